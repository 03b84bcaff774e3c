"""One request: what is sent, and what becomes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prumo_endpoint.exchange import Address


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
    """What came is not HTTP, or says that it is JSON and is not."""


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
    is_json: bool = False
    """Whether the answer says so."""
    error: str = ""
    """What the operating system says of a connection that failed."""
    is_retried: bool = False
    """Whether it was sent again, because the server had closed a connection that was kept open."""
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
