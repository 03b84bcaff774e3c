"""An HTTP request over a connection of its own, its answer, and the address it is sent to."""

from __future__ import annotations

import http.client
import io
import select
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import SplitResult, quote, urlsplit

from prumo.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from _typeshed import WriteableBuffer


_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Request:
    """What is asked."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


PING = Request("GET", "/ping")
"""SageMaker's health check."""
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
    """Send a request and wait for the whole answer."""
    pending = PendingExchange(address, request, timeout_seconds)
    pending.send(len(request.body))
    return pending.answer()


class PendingExchange:
    """A request whose body is sent in parts; the answer reports errors on the way."""

    def __init__(self, address: Address, request: Request, timeout_seconds: float) -> None:
        self._request = request
        self._began = time.monotonic()
        self._timeout_seconds = timeout_seconds
        self._sent_bytes = 0
        self._connection: socket.socket | None = None
        self._error: Exception | None = None
        try:
            self._connection = address.connected(timeout_seconds)
            self._connection.sendall(_head(address, request))
        except OSError as error:
            self._error = error

    def send(self, until: int) -> None:
        """Send the body up to this byte."""
        if self._connection is None or self._error is not None:
            return
        try:
            self._connection.settimeout(self._remaining_seconds())
            self._connection.sendall(memoryview(self._request.body)[self._sent_bytes : until])
        except OSError as error:
            # A server may refuse early and close; its answer may still be there to be read.
            self._error = error
        self._sent_bytes = until

    def wait_for_reply(self, seconds: float) -> None:
        """Wait until the server says anything, such as that the body may come."""
        if self._connection is not None:
            select.select([self._connection], [], [], seconds)

    def answer(self) -> Exchange:
        """The answer, read to its end; the connection is closed then."""
        if self._connection is None:
            return self._failed(self._error or ConnectionError())
        with self._connection:
            try:
                return self._read(self._connection)
            except (OSError, http.client.HTTPException) as error:
                return self._failed(self._error or error)

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
        return Exchange(self._seconds(), failure=self._described(error), is_late=is_late)

    def _described(self, error: Exception) -> str:
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
    """The incoming bytes of a connection, with one deadline for an answer that trickles in."""

    def __init__(self, connection: socket.socket, remaining_seconds: Callable[[], float]) -> None:
        super().__init__()
        self._connection = connection
        self._remaining_seconds = remaining_seconds

    def makefile(self, _mode: str) -> io.BufferedReader:
        """This object in the form that `http.client` reads from."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Always: it is never written to."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what comes next, or fail at the deadline."""
        self._connection.settimeout(self._remaining_seconds())
        return self._connection.recv_into(buffer)


def _head(address: Address, request: Request) -> bytes:
    headers = {"Host": address.authority, "Connection": "close", **request.headers}
    if request.method == "POST":
        headers["Content-Length"] = str(len(request.body))
    lines = [f"{request.method} {address.prefix}{request.path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


SCHEMES = {"http": 80, "https": 443}
LOCAL_HOST = "127.0.0.1"
_CONNECT_SECONDS = 2.0


@dataclass(frozen=True)
class Address:
    """A host, a port, and a prefix of the contract's paths."""

    host: str
    port: int
    scheme: str = "http"
    prefix: str = ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.prefix}"

    @property
    def authority(self) -> str:
        """Host and port as a request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def accepted(self, timeout_seconds: float) -> socket.socket:
        """An accepted TCP connection; the caller closes it."""
        return socket.create_connection((self.host, self.port), timeout_seconds)

    def connected(self, timeout_seconds: float) -> socket.socket:
        """A connection ready for a request, with TLS where needed; the caller closes it."""
        opened = self.accepted(timeout_seconds)
        if self.scheme != "https":
            return opened
        try:
            return ssl.create_default_context().wrap_socket(opened, server_hostname=self.host)
        except OSError:
            opened.close()
            raise


def address_of(url: str) -> Address:
    """The address that a URL names."""
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode("ascii")
    except ValueError as error:
        raise InputError(f"{url}: {error}") from error
    if wrong := _wrong_part(parts):
        raise InputError(
            f"{url}: {wrong}; right is http://HOST:PORT, such as http://localhost:8080"
        )
    prefix = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
    return Address(host, SCHEMES[parts.scheme] if port is None else port, parts.scheme, prefix)


def free_port() -> int:
    """A port of this machine where nothing listens now."""
    with socket.socket() as probe:
        probe.bind((LOCAL_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def require_unused(port: int) -> None:
    """Refuse a port where another server answers already: that one would be checked instead."""
    try:
        socket.create_connection((LOCAL_HOST, port), _CONNECT_SECONDS).close()
    except OSError:
        return
    raise InputError(
        f"another server listens at port {port} already; stop it, or give another port"
    )


def _wrong_part(parts: SplitResult) -> str:
    if parts.scheme not in SCHEMES:
        return f"'{parts.scheme}' is neither http nor https"
    if not parts.hostname:
        return "no host is named"
    if parts.username is not None:
        return "a user's name does not belong here"
    if parts.query or parts.fragment:
        return "nothing may follow the path"
    return ""


Result = TypeVar("Result")


class ConcurrentCalls(Generic[Result]):
    """Calls that run now, each in a thread; Ctrl-C does not wait for them."""

    def __init__(self, calls: Sequence[Callable[[], Result]]) -> None:
        self._results: dict[int, Result] = {}
        self._threads = [
            threading.Thread(target=self._run, args=(place, call), daemon=True)
            for place, call in enumerate(calls)
        ]
        for thread in self._threads:
            thread.start()

    def are_over(self, patience_seconds: float) -> bool:
        """Whether all calls have returned, after waiting so long for them."""
        until = time.monotonic() + patience_seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def results(self) -> list[Result]:
        """What the calls returned, once all have."""
        for thread in self._threads:
            thread.join()
        return [self._results[place] for place in range(len(self._threads))]

    def _run(self, place: int, call: Callable[[], Result]) -> None:
        self._results[place] = call()
