"""Connections that speak HTTP as nobody should, and read whatever comes back."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.served_process import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.served_process import ServedProcess


@dataclass(frozen=True)
class Reply:
    """An answer among those of one connection."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        """Of an error."""
        document: dict[str, Any] = json.loads(self.body)
        return str(document["error"]["kind"])


def connected(server: ServedProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), PATIENCE_SECONDS)


def post(body: bytes, *headers: bytes, content_type: bytes = b"image/jpeg") -> bytes:
    """A request with its right length."""
    return request(*headers, b"Content-Length: %d" % len(body), content_type=content_type) + body


def request(*headers: bytes, content_type: bytes = b"image/jpeg") -> bytes:
    """The head of a request, whose body is whatever follows."""
    lines = (b"POST /invocations HTTP/1.1", b"Host: a", b"Content-Type: " + content_type, *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def replies(connection: socket.socket) -> list[Reply]:
    """All answers until the server hangs up."""
    found: list[Reply] = []
    with suppress(ConnectionError):
        found.extend(replies_one_by_one(connection))
    return found


def replies_one_by_one(connection: socket.socket) -> Iterator[Reply]:
    """The same, each as soon as it has come."""
    file = connection.makefile("rb")
    while status_line := file.readline():
        lines = iter(lambda: file.readline().strip().decode(), "")
        headers = {name.lower(): value.strip() for name, _, value in map(_parts, lines)}
        body = file.read(int(headers["content-length"]))
        yield Reply(int(status_line.split()[1]), headers, body)


def said(server: ServedProcess, *parts: bytes) -> list[Reply]:
    """All answers on a connection of its own to what is sent, which may not be taken to its end."""
    with connected(server) as connection:
        with suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
        return replies(connection)


def _parts(line: str) -> tuple[str, str, str]:
    return line.partition(":")
