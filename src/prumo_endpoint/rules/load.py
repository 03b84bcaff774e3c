"""The server tells its health also while it works."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from prumo.quantity import Quantity
from prumo_endpoint.exchange import HEALTHY, Together
from prumo_endpoint.limits import HOSTING_GUIDE
from prumo_endpoint.outcome import broken, kept
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.exchange import Exchange
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case

_PAUSE_SECONDS = 0.02


def _check(case: Case) -> Outcome:
    connections = case.limits.load_connections
    is_enough = threading.Event()

    def invoke_often() -> list[Exchange]:
        rounds = range(case.limits.load_rounds)
        return [case.invoke() for _ in rounds if not is_enough.is_set()]

    invocations = Together([invoke_often] * connections)
    slowest = 0.0
    is_over = False
    while not is_over:
        ping = case.ping()
        if ping.status != HEALTHY:
            is_enough.set()
            invocations.results()
            return broken(f"beside {connections} invocations at once /ping {ping}")
        slowest = max(slowest, ping.seconds)
        is_over = invocations.are_over(_PAUSE_SECONDS)
    answers = [answer for each in invocations.results() for answer in each]
    failed = [answer for answer in answers if not answer.succeeded]
    also = f"; of {len(answers)} invocations {len(failed)} failed: it {failed[0]}" if failed else ""
    return kept(
        f"200 beside {connections} invocations at once; the slowest answer{also}",
        Quantity(slowest, "s"),
    )


RULE = Rule(
    name="ping under load",
    demand="/ping answers 200 within {limits.ping_seconds:g} s "
    "beside {limits.load_connections} invocations at once",
    source=HOSTING_GUIDE,
    check=_check,
    needs=("invocations",),
)
