"""The server calls itself healthy only when it can work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_endpoint.limits import HOSTING_GUIDE
from prumo_endpoint.outcome import broken, kept, not_checked
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case


def _check(case: Case) -> Outcome:
    seen = case.start.first_invocation if case.start else None
    first = seen or case.invoke()
    if first.succeeded:
        when = "right after the first 200 from /ping" if seen else "after a 200 from /ping"
        return kept(f"an invocation sent {when} succeeds")
    if first.refused:
        return not_checked(f"/invocations {first} to the sample, so the model was not asked")
    if first.is_late:
        return not_checked(f"/invocations {first}, which is another rule")
    return broken(f"/ping says 200, but /invocations {first}")


RULE = Rule(
    name="truthful ping",
    demand="/ping does not say 200 before /invocations works",
    source=HOSTING_GUIDE,
    check=_check,
    needs=("ping",),
)
