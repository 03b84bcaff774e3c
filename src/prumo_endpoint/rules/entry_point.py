"""SIGTERM reaches the server in its container."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_endpoint.limits import HOSTING_GUIDE
from prumo_endpoint.outcome import broken, kept, not_checked
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case

SHELLS = {"sh", "ash", "bash", "busybox", "dash", "ksh", "zsh"}


def _check(case: Case) -> Outcome:
    stop = case.stop
    if not case.server.is_container:
        return not_checked("there is no container; give an image to have this checked")
    if stop is None or stop.ended_before:
        return not_checked("the container had ended before SIGTERM could be sent")
    if stop.ending:
        return kept(f"process 1{f' is {stop.program}' if stop.program else ''}: SIGTERM ends it")
    if not stop.program:
        return not_checked("SIGTERM does not end process 1, whose name cannot be seen from here")
    if stop.program in SHELLS:
        return broken(
            f"process 1 is a shell ({stop.program}), which keeps SIGTERM for itself: "
            'use the exec form ENTRYPOINT ["program", "argument"], or end a script with exec'
        )
    return kept(f"process 1 is {stop.program} and no shell")


RULE = Rule(
    name="entry point",
    demand="process 1 of the container is the server, or passes SIGTERM on",
    source=HOSTING_GUIDE,
    check=_check,
    needs=("start-up",),
)
