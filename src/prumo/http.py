"""HTTP answers read in pieces, so that one which ends early is not taken for a whole one."""

from __future__ import annotations

import http.client
import urllib.request
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TIMEOUT_SECONDS = 30.0
SCHEMES = ("http://", "https://")
_CHUNK_BYTES = 1 << 18


class BrokenConnectionError(Exception):
    """The connection ended before the answer did."""


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
    while True:
        try:
            chunk = answer.read(_CHUNK_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise BrokenConnectionError(f"the connection broke: {error}") from error
        if not chunk:
            break
        yield chunk
    if answer.length:
        raise BrokenConnectionError(f"the connection ended {answer.length} bytes early")
