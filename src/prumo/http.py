"""HTTP answers read in pieces, and the one policy of retries for what may succeed another time."""

from __future__ import annotations

import http.client
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from prumo.backoff import Backoff

TIMEOUT_SECONDS = 30.0
SCHEMES = ("http://", "https://")
_CHUNK_BYTES = 1 << 18

T = TypeVar("T")


class TransientError(Exception):
    """What failed may succeed another time, after the wait that the server asks for, if any."""

    def __init__(self, reason: str, wait_seconds: float | None = None) -> None:
        super().__init__(reason)
        self.wait_seconds = wait_seconds


class BrokenConnectionError(TransientError):
    """The connection ended before the answer did."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often to try, and how long to wait in between: twice as long after each attempt."""

    attempts: int = 4
    first_wait_seconds: float = 1.0
    longest_wait_seconds: float = 60.0
    """A server that asks for more is not asked again."""

    def allows(self, wait_seconds: float | None) -> bool:
        """Whether a wait that a server asks for is short enough."""
        return (wait_seconds or 0.0) <= self.longest_wait_seconds


def retry(
    attempt: Callable[[], T],
    policy: RetryPolicy,
    on_wait: Callable[[TransientError, float], None] = lambda _error, _seconds: None,
) -> T:
    """Call `attempt` until it succeeds; only a TransientError is followed by another call.

    `on_wait` is called before each wait with the error and the seconds.

    Raises:
        TransientError: The last one, when the attempts are used up or when the server asks for a
            longer wait than the policy allows.
    """
    backoff = Backoff(policy.first_wait_seconds, policy.longest_wait_seconds)
    for left in reversed(range(policy.attempts)):
        try:
            return attempt()
        except TransientError as error:
            if not left or not policy.allows(error.wait_seconds):
                raise
            wait_seconds = error.wait_seconds or backoff.delay()
            on_wait(error, wait_seconds)
            time.sleep(wait_seconds)
    raise ValueError("a policy needs at least one attempt")


def opened(url: str, headers: Mapping[str, str] | None = None) -> http.client.HTTPResponse:
    """The answer to a request, with its body still to be read."""
    if not url.startswith(SCHEMES):
        raise ValueError("only http and https addresses can be fetched from")
    request = urllib.request.Request(url, headers=dict(headers or {}))  # noqa: S310 (checked above)
    answer: http.client.HTTPResponse = urllib.request.urlopen(  # noqa: S310 (as above)
        request, timeout=TIMEOUT_SECONDS
    )
    return answer


def chunks(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    """The body of an answer, piece by piece, to its announced end."""
    try:
        while chunk := answer.read(_CHUNK_BYTES):
            yield chunk
    except (OSError, http.client.HTTPException) as error:
        raise BrokenConnectionError(f"the connection broke: {error}") from error
    if answer.length:
        raise BrokenConnectionError(f"the connection ended {answer.length} bytes early")
