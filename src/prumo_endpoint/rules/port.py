"""The server listens where it is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_endpoint.limits import PORT_GUIDE
from prumo_endpoint.outcome import broken, kept, not_checked
from prumo_endpoint.rule import Rule
from prumo_endpoint.targets import PORT, PORT_VARIABLE

if TYPE_CHECKING:
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.rule import Case


def _check(case: Case) -> Outcome:
    port = case.server.port
    told = f"port {port}" if port == PORT else f"port {port}, which {PORT_VARIABLE} names"
    if case.start is None:
        if port == PORT:
            return kept(f"listens at {told}")
        return not_checked(
            f"the address has port {port}; whether the server listens at {PORT}, or where "
            f"{PORT_VARIABLE} says, is seen only when Prumo starts it"
        )
    if case.start.is_reached:
        return kept(f"listens at {told}")
    if case.start.elsewhere is not None:
        return broken(f"answers at port {case.start.elsewhere.port} and not at {told}")
    return not_checked("nothing answers at any port that was seen")


RULE = Rule(
    name="port",
    demand=f"listens at port {PORT}, or at the one that {PORT_VARIABLE} names",
    source=PORT_GUIDE,
    check=_check,
    needs=("serve",),
)
