"""The server tells its health quickly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.quantity import Quantity
from prumo_endpoint.exchange import HEALTHY
from prumo_endpoint.limits import HOSTING_GUIDE
from prumo_endpoint.outcome import broken, kept
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case

TIMES = 5


def _check(case: Case) -> Outcome:
    slowest = 0.0
    for _ in range(TIMES):
        ping = case.ping()
        if ping.status != HEALTHY:
            return broken(f"/ping {ping}")
        if ping.body_bytes > case.limits.ping_body_bytes:
            return broken("/ping answers with a large body", Quantity(ping.body_bytes, "B"))
        slowest = max(slowest, ping.seconds)
    return kept(f"200 each time; the slowest of {TIMES} answers", Quantity(slowest, "s"))


RULE = Rule(
    name="ping",
    demand="GET /ping answers 200 within {limits.ping_seconds:g} s, with an empty or short body",
    source=HOSTING_GUIDE,
    check=_check,
    needs=("start-up",),
)
