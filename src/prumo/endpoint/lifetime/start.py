"""A server's start, watched: when it answers, and whether it then works."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.endpoint.exchange import HEALTHY, PING, exchange

if TYPE_CHECKING:
    from prumo.endpoint.exchange import Exchange
    from prumo.endpoint.exchange.address import Address
    from prumo.endpoint.exchange.body import Body
    from prumo.endpoint.limits import Limits
    from prumo.endpoint.targets import Server, ServerProcess
    from prumo.progress import Progress

_LOOK_SECONDS = 0.05
# A slow /ping breaks a rule of its own; it must not pass for a server that does not start.
_PING_PATIENCE = 5


@dataclass(frozen=True)
class Start:
    """What was seen until the server called itself healthy, or until it was given up."""

    last_ping: Exchange | None = None
    ready_seconds: float | None = None
    """Until the first 200 from /ping."""
    first_invocation: Exchange | None = None
    """Sent at once after that."""
    elsewhere: Address | None = None
    """Where it answers while the right port stays silent."""
    ending: str | None = None
    """How the process ended."""
    last_words: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether it called itself healthy."""
        return self.ready_seconds is not None

    @property
    def is_reached(self) -> bool:
        """Whether anything answered at the right port."""
        return self.last_ping is not None and self.last_ping.status is not None


def watch_start(
    server: Server, process: ServerProcess, body: Body, limits: Limits, progress: Progress
) -> Start:
    """Ask /ping until it says 200, then send an invocation at once."""
    began = time.monotonic()
    stranger = _Stranger(server, process, limits)
    while True:
        progress.show("waiting for /ping", f"{time.monotonic() - began:.0f} s")
        ping = exchange(server.address, PING, _PING_PATIENCE * limits.ping_seconds)
        seconds = time.monotonic() - began
        if ping.status == HEALTHY:
            first = exchange(server.address, body.request(), limits.invocation_seconds)
            return Start(ping, seconds, first)
        ending, elsewhere = None, None
        if ping.status is None:
            ending, elsewhere = process.ending(), stranger.settled()
        if ending is not None or elsewhere is not None or seconds > limits.start_seconds:
            return Start(ping, elsewhere=elsewhere, ending=ending, last_words=process.last_words())
        time.sleep(_LOOK_SECONDS)


class _Stranger:
    """A healthy answer at a port where nobody asked for one.

    Behind a proxy that starts last this is a matter of moments, so it has to last a while.
    """

    def __init__(self, server: Server, process: ServerProcess, limits: Limits) -> None:
        self._server = server
        self._process = process
        self._limits = limits
        self._since: float | None = None

    def settled(self) -> Address | None:
        """Where the server has been answering for long enough."""
        found = self._found()
        if found is None:
            self._since = None
            return None
        now = time.monotonic()
        if self._since is None:
            self._since = now
        return found if now - self._since >= self._limits.elsewhere_seconds else None

    def _found(self) -> Address | None:
        for address in self._process.addresses():
            if address.port != self._server.port:
                ping = exchange(address, PING, self._limits.ping_seconds)
                if ping.status == HEALTHY:
                    return address
        return None
