"""The front's HTTP: connections of clients, and those to instances.

Requests and answers are passed on whole, so that an instance is never held by a slow client, and an
instance that dies in the middle of an answer gives an error instead of half an answer.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import responses
from typing import TYPE_CHECKING, Protocol

import httptools

from prumo_endpoint.targets import DIED, OUT_OF_MEMORY, START_FAILED, START_TIMEOUT, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST_REQUEST_BYTES = 64 << 20
_MOST_WAITING = 100
"""Requests that a client sent on one connection before the answer to the first."""
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# They are about one connection, or about how a body is sent, and a body is passed on whole.
_OF_ONE_CONNECTION = {
    b"connection",
    b"content-length",
    b"expect",
    b"keep-alive",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
}
_WITHOUT_BODY = {b"GET", b"HEAD", b"OPTIONS"}
Headers = list[tuple[bytes, bytes]]


@dataclass
class Request:
    """A request that has come whole."""

    method: bytes
    path: bytes
    headers: Headers
    body: bytes
    keeps_connection: bool
    came: float = field(default_factory=time.perf_counter)

    def encoded(self) -> bytes:
        """As an instance gets it."""
        head = [b"%b %b HTTP/1.1\r\n" % (self.method, self.path), *_passed_on(self.headers)]
        if self.body or self.method not in _WITHOUT_BODY:
            head.append(b"content-length: %d\r\n" % len(self.body))
        return b"".join([*head, b"\r\n", self.body])


@dataclass
class Response:
    """An answer that has come whole."""

    status: int
    reason: bytes
    headers: Headers
    body: bytes
    has_body: bool = True

    def encoded(self, added: Iterable[tuple[str, str]], *, keeps_connection: bool) -> bytes:
        """As a client gets it, with headers of the front's own, which replace the server's."""
        added = list(added)
        replaced = {name.lower().encode("latin-1") for name, _ in added}
        passed = [header for header in self.headers if header[0].lower() not in replaced]
        head = [b"HTTP/1.1 %d %b\r\n" % (self.status, self.reason), *_passed_on(passed)]
        head += [f"{name}: {value}\r\n".encode("latin-1") for name, value in added]
        if self.has_body:
            head.append(b"content-length: %d\r\n" % len(self.body))
        if not keeps_connection:
            head.append(b"connection: close\r\n")
        return b"".join([*head, b"\r\n", self.body])


def error_response(status: int, kind: str, message: str, last_output: str = "") -> Response:
    """An answer of the front's own: `{"error": {"kind": …, "message": …}}`."""
    error = {"kind": kind, "message": message}
    if last_output:
        error["last_output"] = last_output
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json")]
    # AWS has statuses of its own, such as 530.
    return Response(status, responses.get(status, "").encode(), headers, body)


NO_ANSWER = "no_answer"
"""An instance that runs on did not answer one request; all other failures are those of a boot."""
_STATUS_OF_FAILURE = {
    OUT_OF_MEMORY: 507,
    START_FAILED: 500,
    START_TIMEOUT: 503,
    DIED: 502,
    NO_ANSWER: 502,
    TIMEOUT: 504,
}


class Failure(Exception):  # noqa: N818 (also an outcome, which nobody raises)
    """Why an instance gives no answer, and what it printed last."""

    def __init__(self, kind: str, message: str, last_output: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.last_output = last_output

    def response(self) -> Response:
        """What the client gets instead."""
        status = _STATUS_OF_FAILURE[self.kind]
        return error_response(status, self.kind, self.message, self.last_output)


class Handler(Protocol):
    """Answers requests, now or later, through `ClientConnection.answer`."""

    def handle(self, client: ClientConnection, request: Request) -> None:
        """Have a request answered."""


class ClientConnection(asyncio.Protocol):
    """A client's connection: one request after the other."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[Request] = deque()
        self._current: Request | None = None
        self._received_bytes = 0
        self._transport: asyncio.Transport | None = None
        self._reset()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (as asyncio promises for TCP)
        self._transport = transport

    def connection_lost(self, _error: Exception | None) -> None:
        """Answers go nowhere now."""
        self._transport = None
        self._waiting.clear()

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        self._received_bytes += len(data)
        if self._received_bytes > MOST_REQUEST_BYTES or len(self._waiting) > _MOST_WAITING:
            self._refuse(413, "too_large", f"a request may have {MOST_REQUEST_BYTES} bytes")
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._refuse(400, "bad_request", f"this is not HTTP/1.1: {error}")

    def on_url(self, path: bytes) -> None:
        """It may come in pieces."""
        self._path += path

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep it."""
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Ask for the body where the client waits for that."""
        expected = [value for name, value in self._headers if name.lower() == b"expect"]
        if expected and self._transport is not None:
            self._transport.write(_CONTINUE)

    def on_body(self, part: bytes) -> None:
        """Keep it."""
        self._parts.append(part)

    def on_message_complete(self) -> None:
        """Have it answered, after those before it."""
        request = Request(
            self._parser.get_method(),
            self._path,
            self._headers,
            b"".join(self._parts),
            self._parser.should_keep_alive(),
        )
        self._reset()
        if self._current is not None:
            self._waiting.append(request)
            return
        self._current = request
        self._handler.handle(self, request)

    def answer(self, response: Response, added: Iterable[tuple[str, str]] = ()) -> None:
        """Answer the current request, and go on to the next."""
        request, self._current = self._current, None
        if request is None or self._transport is None:
            return
        keeps = request.keeps_connection
        self._transport.write(response.encoded(added, keeps_connection=keeps))
        if not keeps:
            self._transport.close()
        elif self._waiting:
            self._current = self._waiting.popleft()
            self._handler.handle(self, self._current)

    def _refuse(self, status: int, kind: str, message: str) -> None:
        if self._transport is not None:
            response = error_response(status, kind, message)
            self._transport.write(response.encoded((), keeps_connection=False))
            self._transport.close()
            self._transport = None

    def _reset(self) -> None:
        self._path = b""
        self._headers: Headers = []
        self._parts: list[bytes] = []
        self._received_bytes = 0


class InstanceConnection(asyncio.Protocol):
    """A connection to an instance: one request, its answer, the next request."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._done: Callable[[Response | Failure], None] | None = None
        self._method = b""
        self.used = 0.0
        """When an answer last came, by the clock `time.perf_counter`."""
        self._parser = httptools.HttpResponseParser(self)
        self._reset()

    @property
    def is_open(self) -> bool:
        """Whether it can be used for another request."""
        return self._transport is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (as asyncio promises for TCP)
        self._transport = transport

    def send(self, request: Request, done: Callable[[Response | Failure], None]) -> None:
        """Send a request; `done` gets its answer, or why there is none."""
        assert self._transport is not None  # noqa: S101 (the caller looks at is_open)
        self._parser = httptools.HttpResponseParser(self)
        self._reset()
        self._done, self._method = done, request.method
        self._transport.write(request.encoded())

    def fail(self, failure: Failure) -> None:
        """Wait no longer for the answer."""
        self._finish(failure)

    def close(self) -> None:
        """Close it; an answer that has not come by now will not come."""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def data_received(self, data: bytes) -> None:
        """Parse what has come."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._finish(Failure(NO_ANSWER, f"what came is not HTTP: {error}"))

    def connection_lost(self, _error: Exception | None) -> None:
        """An answer without a length ends so; any other one is lost."""
        self._transport = None
        if self._has_head and not self._has_length:
            self._finish(self._response())
        else:
            self._finish(Failure(NO_ANSWER, "it closed the connection without a whole answer"))

    def on_status(self, reason: bytes) -> None:
        """It may come in pieces."""
        self._reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep it."""
        self._headers.append((name, value))
        if name.lower() in {b"content-length", b"transfer-encoding"}:
            self._has_length = True

    def on_headers_complete(self) -> None:
        """The answer to HEAD has no body, whatever its headers say."""
        self._has_head = True
        if self._method == b"HEAD" and not self._is_announcement():
            self._finish(self._response())

    def on_body(self, part: bytes) -> None:
        """Keep it."""
        self._parts.append(part)

    def on_message_complete(self) -> None:
        """The answer is whole; one that only announces another is not."""
        if self._is_announcement():
            # The same parser goes on: the answer itself may have come with it.
            self._reset()
            return
        self._finish(self._response())

    def _is_announcement(self) -> bool:
        status: int = self._parser.get_status_code()
        return status < HTTPStatus.OK

    def _response(self) -> Response:
        status = self._parser.get_status_code()
        if self._method == b"HEAD" or status in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}:
            return Response(status, self._reason, self._headers, b"", has_body=False)
        return Response(status, self._reason, self._headers, b"".join(self._parts))

    def _finish(self, result: Response | Failure) -> None:
        done, self._done = self._done, None
        if done is None:
            return
        self.used = time.perf_counter()
        is_reusable = isinstance(result, Response) and self._parser.should_keep_alive()
        if not is_reusable or self._method == b"HEAD":
            self.close()
        done(result)

    def _reset(self) -> None:
        self._reason = b""
        self._headers: Headers = []
        self._parts: list[bytes] = []
        self._has_head = False
        self._has_length = False


def _passed_on(headers: Headers) -> Iterable[bytes]:
    return (
        b"%b: %b\r\n" % header for header in headers if header[0].lower() not in _OF_ONE_CONNECTION
    )
