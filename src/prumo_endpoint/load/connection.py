"""One request on its way: what is sent, the connection that carries it, and what becomes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import httptools

if TYPE_CHECKING:
    import socket

    from prumo_endpoint.exchange import Address

_LENGTH_HEADERS = frozenset({b"content-length", b"transfer-encoding"})
_NOTE = b"x-prumo-"


def prepared_request(
    address: Address, body: bytes, content_type: str, path: str = "/invocations"
) -> bytes:
    """A POST request as it is sent."""
    head = (
        f"POST {address.prefix}{path} HTTP/1.1\r\nHost: {address.authority}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("latin-1") + body


class Outcome(StrEnum):
    """What became of one request."""

    ANSWERED = "answered"
    """With a status of success."""
    REFUSED = "refused"
    """With another status."""
    LATE = "late"
    """No whole answer came in time."""
    CLOSED = "closed"
    """The connection was closed before the answer was whole."""
    UNREACHABLE = "unreachable"
    """No connection could be made."""
    GARBLED = "garbled"
    """What came is not HTTP."""


@dataclass(slots=True)
class Sent:
    """One request; times are seconds since the start of the load."""

    number: int
    payload: int
    """Which of the bodies it had."""
    due: float
    """When it was to be sent."""
    free: float
    """When it could be sent: when due, or when a connection became free, if all were in use."""
    start: float = math.nan
    first_byte: float = math.nan
    end: float = math.nan
    outcome: Outcome = Outcome.ANSWERED
    status: int = 0
    received_bytes: int = 0
    body: bytes = b""
    notes: dict[str, str] = field(default_factory=dict)
    """The answer's headers that begin with `x-prumo-`, in lower case and without that."""

    @property
    def latency_seconds(self) -> float:
        """From when it was due to the end of the answer."""
        return self.end - self.due

    @property
    def lateness_seconds(self) -> float:
        """How long the generator itself was late."""
        return self.start - self.free


class Connection:
    """A connection and the answer that it is waiting for."""

    __slots__ = (
        "_parts",
        "has_length",
        "is_complete",
        "is_connecting",
        "is_kept_alive",
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
        self.unsent: memoryview | None = memoryview(request)
        self._reset()

    def rest(self) -> None:
        """Wait for the next request."""
        self.sent = None
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
        """Whether the answer says where it ends, and what a target of Prumo's adds to it."""
        name = name.lower()
        if name in _LENGTH_HEADERS:
            self.has_length = True
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
        self._parts: list[bytes] = []
        self.notes: dict[str, str] = {}
