"""The server ends in time when it is asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.quantity import Quantity
from prumo_endpoint.limits import HOSTING_GUIDE
from prumo_endpoint.outcome import broken, kept, not_checked
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case

NOT_OURS = "it ran already, and Prumo ends only what it started"


def _check(case: Case) -> Outcome:
    stop = case.stop
    if stop is None:
        return not_checked(NOT_OURS)
    if stop.ended_before:
        return not_checked(f"it {stop.ended_before} before SIGTERM could be sent")
    seconds = Quantity(stop.seconds, "s")
    if stop.ending:
        return kept(stop.ending, seconds)
    hint = (
        "; without a handler of its own, process 1 ignores it" if case.server.is_container else ""
    )
    return broken(f"still running after SIGTERM, so SageMaker kills it{hint}", seconds)


RULE = Rule(
    name="stop",
    demand="ends within {limits.stop_seconds:g} s of SIGTERM",
    source=HOSTING_GUIDE,
    check=_check,
    needs=("start-up", "entry point"),
)
