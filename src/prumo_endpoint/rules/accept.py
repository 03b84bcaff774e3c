"""The server takes connections quickly, also when many are open."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from prumo.quantity import Quantity
from prumo_endpoint.limits import HOSTING_GUIDE
from prumo_endpoint.outcome import broken, kept
from prumo_endpoint.rule import Rule

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case


def _check(case: Case) -> Outcome:
    limits = case.limits
    slowest = 0.0
    with ExitStack() as stack:
        for already_open in range(limits.open_connections):
            began = time.monotonic()
            try:
                stack.enter_context(case.server.address.accepted(limits.accept_seconds))
            except TimeoutError:
                return broken(
                    f"with {already_open} connections open, the next is not taken within "
                    f"{limits.accept_seconds * 1000:g} ms"
                )
            except OSError as error:
                return broken(f"with {already_open} connections open, the next fails: {error}")
            slowest = max(slowest, time.monotonic() - began)
    return kept(
        f"the slowest of {limits.open_connections} connections, all open at once",
        Quantity(slowest, "s"),
    )


RULE = Rule(
    name="accept",
    demand="accepts a connection within {limits.accept_seconds:g} s, "
    "also while {limits.open_connections} are open",
    source=HOSTING_GUIDE,
    check=_check,
    needs=("start-up",),
)
