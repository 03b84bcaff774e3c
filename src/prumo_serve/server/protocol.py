"""HTTP as uvicorn speaks it, with limits on headers that it does not have."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from prumo_serve.server.refusal import Refusal
from prumo_serve.server.settings import Limits

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn.config import Config
    from uvicorn.server import ServerState


# That what is still being sent is thrown away: as long as NGINX waits for more of it by default.
_LINGERING_SECONDS = 5.0


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

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._is_in_headers = False
        self._header_bytes = 0
        self._is_refused = False
        self._timer: asyncio.TimerHandle | None = None

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
            self._refuse(
                Refusal(
                    HTTPStatus.REQUEST_TIMEOUT,
                    "too_slow",
                    f"the headers took longer than {seconds:g} s to arrive",
                )
            )
        else:
            self.transport.close()

    def _refuse_large_headers(self) -> None:
        self._refuse(
            Refusal(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                "headers_too_large",
                f"the headers are larger than {self.limits.header_bytes} bytes",
            )
        )

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP in the form of all other errors."""
        self._refuse(Refusal(HTTPStatus.BAD_REQUEST, "malformed", msg))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer without a request and close."""
        self._is_refused = True
        self._stop_timer()
        body = json.dumps(refusal.document).encode()
        self.transport.write(
            STATUS_LINE[refusal.status]
            + b"content-type: application/json\r\nconnection: close\r\n"
            + b"content-length: %d\r\n\r\n" % len(body)
            + body
        )
        self.transport.close()


def bounded_protocol(limits: Limits) -> type[BoundedProtocol]:
    """The class that uvicorn makes a connection's protocol of."""
    return type("BoundedProtocol", (BoundedProtocol,), {"limits": limits})
