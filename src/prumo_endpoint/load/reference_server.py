"""Servers whose times are known, for measuring the load generator itself.

    python -m prumo_endpoint.load.reference_server --request-bytes 123 [--service-seconds 0.01]
                                                   [--port 8080]

Prints its port, by default a free one. Without service time it answers at once: the null server.
With one, it works on a single request at a time for exactly that long, in the order of arrival, and
does so without using the processor: the wait of each request is known in advance
(`prumo_endpoint.load.calibration`).
"""

from __future__ import annotations

import argparse
import select
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prumo.errors import UnavailableError
from prumo.supervise.child import end
from prumo.supervise.parent_death import dies_with_parent
from prumo_endpoint.exchange import LOCAL_HOST, Address
from prumo_endpoint.load.generator import precise_timers

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
_RECEIVE_BYTES = 1 << 18
_END_SECONDS = 1.0


@contextmanager
def reference_server(request_bytes: int, service_seconds: float = 0.0) -> Iterator[Address]:
    """Such a server in a process of its own, for the time of a block."""
    words = ["--request-bytes", str(request_bytes), "--service-seconds", repr(service_seconds)]
    command = [sys.executable, "-m", "prumo_endpoint.load.reference_server", *words]
    with subprocess.Popen(dies_with_parent(command), stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line.strip().isdecimal():
                raise UnavailableError("the reference server of the load generator does not start")
            yield Address(LOCAL_HOST, int(line))
        finally:
            end(process, _END_SECONDS)


class _Server:
    """One thread; requests all have the same length, so that none has to be parsed."""

    def __init__(self, request_bytes: int, service_seconds: float) -> None:
        self._request_bytes = request_bytes
        self._service_seconds = service_seconds
        self._epoll = select.epoll()
        self._clients: dict[int, socket.socket] = {}
        self._received: dict[int, int] = {}
        self._queue: deque[tuple[float, int]] = deque()
        """When each answer is to be sent, and to whom."""
        self._free_at = 0.0

    def serve(self, port: int) -> None:
        """Answer until the process is ended."""
        precise_timers()
        with socket.create_server((LOCAL_HOST, port), backlog=1024) as listener:
            sys.stdout.write(f"{listener.getsockname()[1]}\n")
            sys.stdout.flush()
            self._epoll.register(listener, select.EPOLLIN)
            while True:
                for descriptor, _ in self._events():
                    if descriptor == listener.fileno():
                        self._accept(listener)
                    else:
                        self._receive(descriptor)
                self._answer_due()

    def _events(self) -> list[tuple[int, int]]:
        wait = max(0.0, self._queue[0][0] - time.perf_counter()) if self._queue else None
        ready, _, _ = select.select([self._epoll], [], [], wait)
        return self._epoll.poll(0) if ready else []

    def _accept(self, listener: socket.socket) -> None:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._clients[client.fileno()] = client
        self._received[client.fileno()] = 0
        self._epoll.register(client, select.EPOLLIN)

    def _receive(self, descriptor: int) -> None:
        client = self._clients[descriptor]
        try:
            size = len(client.recv(_RECEIVE_BYTES))
        except ConnectionError:
            size = 0
        if not size:
            del self._clients[descriptor]
            client.close()
            return
        self._received[descriptor] += size
        if self._received[descriptor] < self._request_bytes:
            return
        self._received[descriptor] -= self._request_bytes
        if not self._service_seconds:
            client.send(ANSWER)
            return
        self._free_at = max(self._free_at, time.perf_counter()) + self._service_seconds
        self._queue.append((self._free_at, descriptor))

    def _answer_due(self) -> None:
        while self._queue and self._queue[0][0] <= time.perf_counter():
            _, descriptor = self._queue.popleft()
            if client := self._clients.get(descriptor):
                client.send(ANSWER)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--request-bytes", type=int, required=True)
    parser.add_argument("--service-seconds", type=float, default=0.0)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    _Server(options.request_bytes, options.service_seconds).serve(options.port)
