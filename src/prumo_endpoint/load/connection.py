"""A connection of the load generator, and the answer that it is waiting for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httptools

if TYPE_CHECKING:
    import socket

    from prumo_endpoint.load.sent import Sent

_LENGTH_HEADERS = frozenset({b"content-length", b"transfer-encoding"})
_NOTE = b"x-prumo-"
_JSON = (b"/json", b"+json")
"""How its media types end."""


class Connection:
    """Parses the answer to one request after the other."""

    __slots__ = (
        "_parts",
        "has_length",
        "is_complete",
        "is_connecting",
        "is_json",
        "is_kept_alive",
        "is_reused",
        "notes",
        "parser",
        "sent",
        "socket",
        "unsent",
    )

    def __init__(self, opened: socket.socket, sent: Sent, request: bytes) -> None:
        self.socket = opened
        self.sent: Sent | None = sent
        self.is_connecting = True
        self.is_reused = False
        """Whether it has carried a request before: the server may close it at any moment."""
        self.unsent: memoryview | None = memoryview(request)
        self._reset()

    def rest(self) -> None:
        """Wait for the next request."""
        self.sent = None
        self.is_reused = True
        self._reset()

    @property
    def body(self) -> bytes:
        """Of the answer, as far as it has come."""
        return b"".join(self._parts)

    @property
    def may_be_used_again(self) -> bool:
        """Whether the server keeps it open, and nothing of the request is left to be sent."""
        return self.is_kept_alive and self.unsent is None

    @property
    def ends_with_connection(self) -> bool:
        """Whether the answer has come whole when the server closes: it states no length."""
        return bool(self.parser.get_status_code()) and not self.has_length

    def on_header(self, name: bytes, value: bytes) -> None:
        """Where the answer ends, whether it is JSON, and what a target of Prumo's adds to it."""
        name = name.lower()
        if name in _LENGTH_HEADERS:
            self.has_length = True
        elif name == b"content-type":
            self.is_json = value.partition(b";")[0].strip().lower().endswith(_JSON)
        elif name.startswith(_NOTE):
            self.notes[name[len(_NOTE) :].decode("latin-1")] = value.decode("latin-1")

    def on_body(self, part: bytes) -> None:
        """Keep it."""
        self._parts.append(part)

    def on_message_complete(self) -> None:
        """Note it, and what the parser knows only now."""
        self.is_complete = True
        self.is_kept_alive = self.parser.should_keep_alive()

    def _reset(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.is_complete = False
        self.is_kept_alive = False
        self.has_length = False
        self.is_json = False
        self._parts: list[bytes] = []
        self.notes: dict[str, str] = {}
