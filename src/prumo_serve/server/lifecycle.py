"""How the server begins to listen and how it ends: no request that was accepted is lost."""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

import uvicorn

from prumo_serve.server.log import log_event
from prumo_serve.server.protocol import bounded_protocol

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from starlette.applications import Starlette

    from prumo_serve.server.protocol import BoundedProtocol
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
        for connection in waiting:
            await loop.connect_accepted_socket(self._protocol, connection)
        if waiting:
            await asyncio.sleep(_ARRIVAL_SECONDS)

    def _protocol(self) -> asyncio.Protocol:
        make = cast("type[BoundedProtocol]", self.config.http_protocol_class)
        return make(self.config, self.server_state, self.lifespan.state)

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
