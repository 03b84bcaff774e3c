"""Uvicorn with limits on headers, and with an end that loses no request.

Uvicorn has no public option for either, so that parts of it are overridden here. pyproject.toml
keeps it to one minor version, and tests/serve/test_uvicorn_internals.py fails when one of these
parts changes.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from prumo_serve.server.log import log_event
from prumo_serve.server.refusal import headers_too_large, malformed, too_slow
from prumo_serve.server.settings import Limits

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from prumo_serve.server.refusal import Refusal
    from prumo_serve.server.service import Service

# SageMaker kills 30 s after SIGTERM; closing the model takes the rest.
DRAIN_SECONDS = 25
# Ours: for requests that are on their way over connections which are open already.
_GRACE_SECONDS = 1.0
# Ours: for the requests of those who connected as the last ones.
_ARRIVAL_SECONDS = 0.2
# Longer than load balancers keep theirs, so that they are the ones who hang up (AWS: 60 s).
_KEEP_ALIVE_SECONDS = 75
_BACKLOG = 2048
_DATE_SECONDS = 1.0
# That what is still being sent is thrown away: as long as NGINX waits for more of it by default.
_LINGERING_SECONDS = 5.0


class DrainingServer(uvicorn.Server):
    """Uvicorn's server, but it sleeps while nothing happens and ends without losing requests."""

    def __init__(self, app: Starlette, service: Service) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http=bounded_protocol(service.settings.limits),
                ws="none",
                lifespan="on",
                interface="asgi3",
                log_config=None,
                access_log=False,
                # Nothing here asks where a request came from.
                proxy_headers=False,
                server_header=False,
                backlog=_BACKLOG,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=DRAIN_SECONDS,
            )
        )
        self._service = service
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending = asyncio.Event()
        self._hurry = asyncio.Event()

    def end_soon(self) -> None:
        """End as after a signal; from any thread, also before the server runs."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._ending.set)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the event loop, which they wake; the exit code is then ours."""
        yield

    async def main_loop(self) -> None:
        """Sleep until the end, but for the time of day that answers carry."""
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._on_signal, number)
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _DATE_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what is under way, then hang up."""
        self._service.is_draining = True
        log_event("shutting down", {"event": "draining"})
        if self.server_state.connections:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), _GRACE_SECONDS)
        await self._stop_listening(sockets or [])
        await super().shutdown(sockets)
        if self.force_exit:
            # Uvicorn would leave the application as it is.
            await self.lifespan.shutdown()
        log_event("ended", {"event": "ended"})

    async def _stop_listening(self, sockets: list[socket.socket]) -> None:
        """Let in who waits at the door first: closing it would reset their connections."""
        waiting = [connection for listening in sockets for connection in _waiting_at(listening)]
        for server in self.servers:
            server.close()
        for listening in sockets:
            listening.close()
        loop = asyncio.get_running_loop()
        kind = cast("type[BoundedProtocol]", self.config.http_protocol_class)
        make = partial(kind, self.config, self.server_state, self.lifespan.state)
        for connection in waiting:
            await loop.connect_accepted_socket(make, connection)
        if waiting:
            await asyncio.sleep(_ARRIVAL_SECONDS)

    def _on_signal(self, number: signal.Signals) -> None:
        if self.should_exit and number == signal.SIGINT:
            # Somebody at a keyboard does not want to wait; a second SIGTERM may be a mere echo.
            self.force_exit = True
            self._hurry.set()
        self.should_exit = True
        self._ending.set()


def _waiting_at(listening: socket.socket) -> Iterator[socket.socket]:
    """Connections that the system has made and nobody has accepted yet."""
    listening.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            yield listening.accept()[0]


class LingeringTransport:
    """A connection whose `close` waits while there is something to come.

    To close with data unread makes the system reset the connection, and a reset can overtake the
    answer and destroy it (RFC 9112, 9.6).
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        is_receiving: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._is_receiving = is_receiving
        self.is_lingering = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (as the transport's own)
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing can be sent any more."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Send what was written, say that no more follows, and hang up when the other side has."""
        if self.is_closing():
            return
        if not self._is_receiving():
            self._transport.close()
            return
        self.is_lingering = True
        self._transport.write_eof()
        self._transport.resume_reading()
        self._loop.call_later(_LINGERING_SECONDS, self._transport.close)


class BoundedProtocol(HttpToolsProtocol):
    """One connection, whose headers are small and soon there."""

    limits = Limits()
    """`bounded_protocol` makes a class with others."""

    _is_in_headers = False
    _header_bytes = 0
    _is_refused = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        """Wait for a first request, but not for ever."""
        lingering = LingeringTransport(transport, self.loop, self._is_receiving)
        super().connection_made(cast("asyncio.Transport", lingering))
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override] # uvicorn's never keeps it open
        """Still answer a sender who has said all and listens; whether the connection stays."""
        cycle = self.cycle
        is_waiting = cycle is not None and not (cycle.more_body or cycle.response_complete)
        if is_waiting:
            cycle.keep_alive = False
        return is_waiting and not self.transport.is_closing()

    def data_received(self, data: bytes) -> None:
        """Parse what has come, unless the connection is to be closed."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.transport.is_closing():
            return
        if not self._is_in_headers:
            self._stop_timer()
            return
        self._header_bytes += len(data)
        if self._header_bytes > self.limits.header_bytes:
            self._refuse_large_headers()
        elif self._timer is None:
            self._start_timer()

    def on_message_begin(self) -> None:
        """Count from here."""
        super().on_message_begin()
        self._is_in_headers = True
        self._header_bytes = 0

    def on_headers_complete(self) -> None:
        """Let a request in whose headers are within the limit."""
        self._is_in_headers = False
        total_bytes = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if total_bytes > self.limits.header_bytes:
            self._refuse_large_headers()
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep it for the request, if there is one."""
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        if not self._is_refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the next request, unless this one's body is still coming."""
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            self.transport.close()

    def shutdown(self) -> None:
        """Close when nothing is under way: not in the middle of headers either."""
        if self._is_in_headers and not self._is_refused:
            return
        super().shutdown()

    def _is_receiving(self) -> bool:
        """Whether the sender has not said all of a request."""
        return self._is_in_headers or self._is_refused or bool(self.cycle and self.cycle.more_body)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.limits.header_seconds, self._refuse_slow_headers)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse_slow_headers(self) -> None:
        seconds = self.limits.header_seconds
        if self._is_in_headers:
            self._refuse(too_slow(f"the headers took longer than {seconds:g} s to arrive"))
        else:
            self.transport.close()

    def _refuse_large_headers(self) -> None:
        most = self.limits.header_bytes
        self._refuse(headers_too_large(f"the headers are larger than {most} bytes"))

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP in the form of all other errors."""
        self._refuse(malformed(msg))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer without a request and close."""
        self._is_refused = True
        self._stop_timer()
        body = json.dumps(refusal.document).encode()
        self.transport.write(
            b"HTTP/1.1 %d %s\r\n" % (refusal.status, refusal.status.phrase.encode())
            + b"content-type: application/json\r\nconnection: close\r\n"
            + b"content-length: %d\r\n\r\n" % len(body)
            + body
        )
        self.transport.close()


def bounded_protocol(limits: Limits) -> type[BoundedProtocol]:
    """The class that uvicorn makes a connection's protocol of."""
    return type("BoundedProtocol", (BoundedProtocol,), {"limits": limits})
