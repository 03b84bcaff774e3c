"""A rule of an endpoint, and what it is checked against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo_endpoint.exchange import PING, exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prumo_endpoint.bodies import Body
    from prumo_endpoint.exchange import Exchange
    from prumo_endpoint.lifetime import Start, Stop
    from prumo_endpoint.limits import Limits
    from prumo_endpoint.outcome import Outcome
    from prumo_endpoint.targets import Server


@dataclass(frozen=True)
class Case:
    """A server under examination, and what has been seen of it."""

    server: Server
    limits: Limits
    body: Body
    start: Start | None = None
    """None for a server that ran before Prumo came."""
    stop: Stop | None = None
    """None before the stop, and for a server that is not Prumo's to end."""

    def ping(self) -> Exchange:
        """Ask for the server's health as SageMaker does."""
        return exchange(self.server.address, PING, self.limits.ping_seconds)

    def invoke(
        self, body: Body | None = None, headers: Mapping[str, str] | None = None
    ) -> Exchange:
        """Send a body, the sample where none is given."""
        request = (body or self.body).request(headers)
        return exchange(self.server.address, request, self.limits.invocation_seconds)


@dataclass(frozen=True)
class Rule:
    """One demand, and how it is checked."""

    name: str
    demand: str
    """What a server must do; names of `limits` stand in it for their values."""
    source: str
    """Where the rule is written, likewise."""
    check: Callable[[Case], Outcome]
    needs: tuple[str, ...] = ()
    """Rules without which nothing can be said of this one."""

    def demanded(self, limits: Limits) -> str:
        """The demand with the limits that hold."""
        return self.demand.format(limits=limits)

    def written(self, limits: Limits) -> str:
        """Where the rule is written for the limits that hold."""
        return self.source.format(limits=limits)
