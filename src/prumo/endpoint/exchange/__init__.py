"""A request over a connection of its own, and what came of it."""

from __future__ import annotations

import http.client
import io
import select
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from _typeshed import WriteableBuffer

    from prumo.endpoint.exchange.address import Address

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Request:
    """What is asked."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


PING = Request("GET", "/ping")
"""By which SageMaker asks whether a server can work."""
HEALTHY = 200


@dataclass(frozen=True)
class Exchange:
    """An answer, or why there is none."""

    seconds: float
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """By names in lower case."""
    body_bytes: int = 0
    failure: str = ""
    is_late: bool = False
    """Whether the failure is that time ran out."""

    @property
    def succeeded(self) -> bool:
        """Whether the answer is one of success."""
        return self.status is not None and 200 <= self.status < 300  # noqa: PLR2004 (HTTP's)

    @property
    def refused(self) -> bool:
        """Whether the request itself is called wrong."""
        return self.status is not None and 400 <= self.status < 500  # noqa: PLR2004 (HTTP's)

    def __str__(self) -> str:
        return self.failure or f"answers {self.status}"


def exchange(address: Address, request: Request, timeout_seconds: float) -> Exchange:
    """Ask, and wait so long for the whole answer."""
    pending = PendingExchange(address, request, timeout_seconds)
    pending.send(len(request.body))
    return pending.answer()


class PendingExchange:
    """A request whose body is sent in parts; trouble on the way is told by the answer."""

    def __init__(self, address: Address, request: Request, timeout_seconds: float) -> None:
        self._request = request
        self._began = time.monotonic()
        self._timeout_seconds = timeout_seconds
        self._sent_bytes = 0
        self._connection: socket.socket | None = None
        self._trouble: Exception | None = None
        try:
            self._connection = address.connected(timeout_seconds)
            self._connection.sendall(_head(address, request))
        except OSError as error:
            self._trouble = error

    def send(self, until: int) -> None:
        """Send the body up to this byte."""
        if self._connection is None or self._trouble is not None:
            return
        try:
            self._connection.settimeout(self._remaining_seconds())
            self._connection.sendall(memoryview(self._request.body)[self._sent_bytes : until])
        except OSError as error:
            # A server may refuse early and close; its answer may still be there to be read.
            self._trouble = error
        self._sent_bytes = until

    def wait_for_word(self, seconds: float) -> None:
        """Wait until the server says anything, such as that the body may come."""
        if self._connection is not None:
            select.select([self._connection], [], [], seconds)

    def answer(self) -> Exchange:
        """The answer, read to its end; the connection is closed then."""
        if self._connection is None:
            return self._failed(self._trouble or ConnectionError())
        with self._connection:
            try:
                return self._read(self._connection)
            except (OSError, http.client.HTTPException) as error:
                return self._failed(self._trouble or error)

    def _read(self, connection: socket.socket) -> Exchange:
        incoming = _Incoming(connection, self._remaining_seconds)
        response = http.client.HTTPResponse(
            incoming,  # type: ignore[arg-type]  # only `makefile` of a socket is called
            method=self._request.method,
        )
        response.begin()
        body_bytes = 0
        while chunk := response.read(_CHUNK_BYTES):
            body_bytes += len(chunk)
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Exchange(self._seconds(), response.status, headers, body_bytes)

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _remaining_seconds(self) -> float:
        remaining = self._timeout_seconds - self._seconds()
        if remaining <= 0:
            raise TimeoutError
        return remaining

    def _failed(self, error: Exception) -> Exchange:
        is_late = isinstance(error, TimeoutError)
        return Exchange(self._seconds(), failure=self._told(error), is_late=is_late)

    def _told(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"gives no answer within {self._timeout_seconds:g} s"
        if isinstance(error, ConnectionRefusedError):
            return "refuses the connection"
        if isinstance(error, http.client.IncompleteRead):
            return "closes the connection in the middle of the answer"
        if isinstance(error, (ConnectionError, http.client.RemoteDisconnected)):
            return "closes the connection without an answer"
        if isinstance(error, http.client.HTTPException):
            return f"does not answer in HTTP ({type(error).__name__}: {error})"
        return f"cannot be asked: {error}"


class _Incoming(io.RawIOBase):
    """What a connection brings; an answer that trickles in cannot outlast the time it is given."""

    def __init__(self, connection: socket.socket, remaining_seconds: Callable[[], float]) -> None:
        super().__init__()
        self._connection = connection
        self._remaining_seconds = remaining_seconds

    def makefile(self, _mode: str) -> io.BufferedReader:
        """This, as HTTP is read from it."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Whether there is anything to read: always."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Take what comes next."""
        self._connection.settimeout(self._remaining_seconds())
        return self._connection.recv_into(buffer)


def _head(address: Address, request: Request) -> bytes:
    headers = {"Host": address.authority, "Connection": "close", **request.headers}
    if request.method == "POST":
        headers["Content-Length"] = str(len(request.body))
    lines = [f"{request.method} {address.prefix}{request.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
