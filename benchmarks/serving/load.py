"""A closed loop of requests on connections that stay open: the next one when the last is answered.

One thread and no framework: the client shares the machine with the server that it measures, and
takes about 40 microseconds of a core for a request.
"""

from __future__ import annotations

import math
import selectors
import socket
import time
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING

import httptools
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OK = 200
ANSWER_SECONDS = 60.0
_CLOSED = -1
_RECEIVE_BYTES = 1 << 16


@dataclass(frozen=True)
class Load:
    """What a server did in a while."""

    seconds: float
    latencies_seconds: tuple[float, ...]
    """Of the answers that came in that while."""
    errors: int = 0

    @property
    def requests_per_second(self) -> float:
        """Only right answers count."""
        return len(self.latencies_seconds) / self.seconds

    def percentile_seconds(self, share: float) -> float:
        """The latency that this share of the answers did not exceed; NaN without any answer."""
        if not self.latencies_seconds:
            return math.nan
        return float(np.quantile(self.latencies_seconds, share))


def pooled(loads: Sequence[Load]) -> Load:
    """Several whiles as one."""
    return Load(
        sum(load.seconds for load in loads),
        tuple(latency for load in loads for latency in load.latencies_seconds),
        sum(load.errors for load in loads),
    )


def post(path: str, body: bytes, content_type: str) -> bytes:
    """A whole request, ready to be sent again and again."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def put_load(port: int, requests: Sequence[bytes], connections: int, seconds: float) -> Load:
    """Keep that many connections busy; time counts from when each has been answered once."""
    order = cycle(requests)
    with selectors.DefaultSelector() as selector:
        open_connections = [_Connection(port, order, selector) for _ in range(connections)]
        try:
            while not all(connection.answers for connection in open_connections):
                _serve_ready(selector)
            return _counted(selector, open_connections, seconds)
        finally:
            for connection in open_connections:
                connection.close()


def ask(port: int, request: bytes) -> tuple[int, bytes]:
    """One request on a connection of its own: the answer's status and body."""
    with selectors.DefaultSelector() as selector:
        connection = _Connection(port, cycle([request]), selector)
        try:
            while not connection.answers:
                _serve_ready(selector)
        finally:
            connection.close()
    return connection.last


def _counted(
    selector: selectors.BaseSelector, connections: Sequence[_Connection], seconds: float
) -> Load:
    for connection in connections:
        connection.latencies_seconds.clear()
        connection.errors = 0
    began = time.perf_counter()
    # A slow server is waited for: one that has not answered at all has no figures.
    while time.perf_counter() - began < seconds or not any(
        each.latencies_seconds or each.errors for each in connections
    ):
        _serve_ready(selector)
    return Load(
        time.perf_counter() - began,
        tuple(latency for each in connections for latency in each.latencies_seconds),
        sum(each.errors for each in connections),
    )


def _serve_ready(selector: selectors.BaseSelector) -> None:
    ready = selector.select(ANSWER_SECONDS)
    if not ready:
        raise TimeoutError(f"no answer came in {ANSWER_SECONDS:.0f} s")
    for key, _ in ready:
        key.data.receive()


@dataclass
class _Connection:
    """Sends, receives, and sends the next; a connection that breaks is an error and opened anew."""

    port: int
    order: Iterator[bytes]
    selector: selectors.BaseSelector
    latencies_seconds: list[float] = field(default_factory=list)
    errors: int = 0
    answers: int = 0
    last: tuple[int, bytes] = (0, b"")

    def __post_init__(self) -> None:
        self._open()

    def receive(self) -> None:
        try:
            content = self.socket.recv(_RECEIVE_BYTES)
        except ConnectionError:
            content = b""
        if content:
            self.parser.feed_data(content)
        else:
            self.errors += 1
            self.close()
            self._open()

    def on_body(self, part: bytes) -> None:
        self.body += part

    def on_message_complete(self) -> None:
        status = self.parser.get_status_code()
        self.last = (status, self.body)
        self.answers += 1
        if status == OK:
            self.latencies_seconds.append(time.perf_counter() - self.sent)
        else:
            self.errors += 1
        if self.parser.should_keep_alive():
            self._send()
        else:
            self.close()
            self._open()

    def close(self) -> None:
        # A connection that could not be opened anew is closed already.
        if self.socket.fileno() != _CLOSED:
            self.selector.unregister(self.socket)
            self.socket.close()

    def _open(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), ANSWER_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(self.socket, selectors.EVENT_READ, self)
        self._send()

    def _send(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.body = b""
        request = next(self.order)
        self.sent = time.perf_counter()
        self.socket.sendall(request)
