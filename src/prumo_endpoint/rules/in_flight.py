"""The server loses no request when it is asked to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.quantity import Quantity
from prumo_endpoint.limits import HOSTING_GUIDE
from prumo_endpoint.outcome import broken, kept, not_checked
from prumo_endpoint.rule import Rule
from prumo_endpoint.rules.stop import NOT_OURS

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case


def _check(case: Case) -> Outcome:
    stop = case.stop
    if stop is None:
        return not_checked(NOT_OURS)
    if stop.ended_before:
        return not_checked(f"it {stop.ended_before} before SIGTERM could be sent")
    lost = [answer for answer in stop.answers if not answer.succeeded]
    total = len(stop.answers)
    if lost:
        return broken(
            f"of {total} requests that had begun before SIGTERM, {len(lost)} were lost: "
            f"it {lost[0]}"
        )
    return kept("every request that had begun before SIGTERM is answered", Quantity(total))


RULE = Rule(
    name="requests in flight",
    demand="answers the requests that it has accepted before SIGTERM",
    source=HOSTING_GUIDE,
    check=_check,
    needs=("invocations", "stop"),
)
