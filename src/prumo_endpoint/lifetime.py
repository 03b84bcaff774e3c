"""A server's start, watched: when it answers, and whether it then works."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo_endpoint.exchange import HEALTHY, PING, PendingExchange, Together, exchange

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo_endpoint.bodies import Body
    from prumo_endpoint.exchange import Address, Exchange
    from prumo_endpoint.limits import Limits
    from prumo_endpoint.targets import Server, ServerProcess


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


_STOP_LOOK_SECONDS = 0.05
# A server that knows this header tells thereby that it has begun with the request.
_ASK_BEFORE_BODY = {"Expect": "100-continue"}


@dataclass(frozen=True)
class Stop:
    """What was seen after SIGTERM."""

    program: str = ""
    """What the signalled process ran; empty where that cannot be seen."""
    ended_before: str = ""
    """How the process ended before it was asked to."""
    ending: str = ""
    """How it ended; empty when it had to be killed."""
    seconds: float = 0.0
    """From the signal to the end, or until it was given up."""
    answers: tuple[Exchange, ...] = ()
    """To the requests that were in flight."""


def watch_stop(server: Server, process: ServerProcess, body: Body, limits: Limits) -> Stop:
    """Send SIGTERM while the last byte of several requests is still to come."""
    if ended_before := _ended_before(server, process, limits):
        return Stop(ended_before=ended_before)
    pending = _in_flight(server, body, limits)
    program = process.program
    process.terminate()
    signalled = time.monotonic()
    time.sleep(limits.settle_seconds)
    for each in pending:
        each.send(len(body.content))
    answers = Together([each.answer for each in pending])
    while True:
        ending = process.ending()
        seconds = time.monotonic() - signalled
        if ending is not None or seconds > limits.stop_seconds:
            return Stop(program, "", ending or "", seconds, tuple(answers.results()))
        time.sleep(_STOP_LOOK_SECONDS)


def _ended_before(server: Server, process: ServerProcess, limits: Limits) -> str:
    """How the server ended by itself; whoever still answers has not."""
    until = time.monotonic() + limits.ping_seconds
    while exchange(server.address, PING, limits.ping_seconds).status is None:
        if ending := process.ending():
            return ending
        if time.monotonic() > until:
            break
        time.sleep(_STOP_LOOK_SECONDS)
    return ""


def _in_flight(server: Server, body: Body, limits: Limits) -> list[PendingExchange]:
    """Requests that the server has accepted and whose bodies lack the last byte."""
    request = body.request(_ASK_BEFORE_BODY)
    pending = [
        PendingExchange(server.address, request, limits.stop_seconds)
        for _ in range(limits.requests_in_flight)
    ]
    for each in pending:
        each.send(len(body.content) - 1)
    until = time.monotonic() + limits.settle_seconds
    for each in pending:
        each.wait_for_word(max(0.0, until - time.monotonic()))
    return pending
