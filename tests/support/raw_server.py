"""A server of raw bytes: each connection gets what a test says, HTTP or not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from prumo_endpoint.exchange import LOCAL_HOST, Address

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@contextmanager
def raw_server(talk: Callable[[socket.socket], None]) -> Iterator[Address]:
    """Call `talk` with every connection, each in a thread of its own."""
    with socket.create_server((LOCAL_HOST, 0)) as listener:
        threading.Thread(target=_accept, args=(listener, talk), daemon=True).start()
        yield Address(LOCAL_HOST, listener.getsockname()[1])
        # Wakes up the thread that accepts.
        listener.shutdown(socket.SHUT_RDWR)


def answering(answer: bytes, *, keep: bool = True) -> Callable[[socket.socket], None]:
    """Send these bytes for every request that comes in one piece."""

    def talk(connection: socket.socket) -> None:
        while connection.recv(1 << 16):
            connection.sendall(answer)
            if not keep:
                return

    return talk


def _accept(listener: socket.socket, talk: Callable[[socket.socket], None]) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_talk, args=(connection, talk), daemon=True).start()


def _talk(connection: socket.socket, talk: Callable[[socket.socket], None]) -> None:
    with connection, suppress(OSError):
        talk(connection)
