"""The server refuses what it cannot read, and lives on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_endpoint.bodies import bad_bodies
from prumo_endpoint.exchange import HEALTHY
from prumo_endpoint.limits import INVOKE_REFERENCE
from prumo_endpoint.outcome import broken, kept, not_checked, undecided
from prumo_endpoint.rule import Rule
from prumo_endpoint.rules.invocations import NO_WAY_IN

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case


def _check(case: Case) -> Outcome:
    before = case.ping()
    if before.status != HEALTHY:
        return undecided(f"/ping {before} already before a bad body was sent")
    taken, refused = [], []
    for what, body in bad_bodies(case.body).items():
        answer = case.invoke(body)
        if answer.status in NO_WAY_IN:
            return undecided(f"/invocations {answer}, so no body was looked at")
        if answer.succeeded:
            taken.append(what)
        elif answer.refused:
            refused.append(what)
        else:
            return broken(f"to {what} ({body.content_type}) it {answer}")
        ping = case.ping()
        if ping.status != HEALTHY:
            return broken(f"after {what} ({body.content_type}) /ping {ping}")
    if not refused:
        return not_checked(f"takes even {' and '.join(taken)}, so no body is wrong for it")
    also = f"; takes {' and '.join(taken)}" if taken else ""
    return kept(f"4xx to {' and '.join(refused)}, and healthy afterwards{also}")


RULE = Rule(
    name="bad body",
    demand="refuses a body that it cannot read with 4xx, and lives on",
    source=INVOKE_REFERENCE,
    check=_check,
    needs=("truthful ping",),
)
