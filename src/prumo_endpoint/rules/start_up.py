"""The server is ready in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.quantity import Quantity
from prumo_endpoint.outcome import broken, kept, not_checked
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case


def _check(case: Case) -> Outcome:
    start = case.start
    if start is None:
        return not_checked("it ran already; give a command or an image to have its start checked")
    if start.ready_seconds is not None:
        seconds = Quantity(start.ready_seconds, "s")
        if start.ready_seconds > case.limits.start_seconds:
            return broken("/ping answers 200 too late", seconds)
        return kept("/ping answers 200", seconds)
    if start.ending is not None:
        return broken(f"{start.ending} before it was ready{_quoted(start.last_words)}")
    hint = (
        "; in a container a server has to listen at 0.0.0.0, not only at 127.0.0.1"
        if case.server.is_container and not start.is_reached
        else ""
    )
    return broken(
        f"no 200 from /ping within {case.limits.start_seconds:g} s; it {start.last_ping}"
        f"{_quoted(start.last_words)}{hint}"
    )


def _quoted(last_words: str) -> str:
    """The last line that a server printed, where it printed any."""
    return f"; it printed: {last_words.splitlines()[-1]}" if last_words else ""


RULE = Rule(
    name="start-up",
    demand="is ready within {limits.start_minutes:g} minutes",
    source="{limits.start_source}",
    check=_check,
    needs=("port",),
)
