"""A request's body as it arrives: not too large, not too slow, not too much of all together."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from prumo.serve.http.refusal import Refusal, malformed, too_large, too_slow

if TYPE_CHECKING:
    from starlette.requests import Request

    from prumo.serve.http.byte_budget import Share
    from prumo.serve.settings import Limits


class SenderGoneError(Exception):
    """The sender hung up before it had sent everything; nobody is there to be answered."""


async def read_body(request: Request, limits: Limits, share: Share) -> bytes:
    """The whole body.

    Raises:
        Refusal: It is too large or too slow, or the server holds too much already.
        SenderGoneError: It broke off.
    """
    _check_length(request, limits)
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await _received(request, limits, share)
    except TimeoutError:
        raise too_slow(f"the body took longer than {limits.body_seconds:g} s to arrive") from None


def _check_length(request: Request, limits: Limits) -> None:
    length = request.headers.get("content-length")
    if length is None:
        if "transfer-encoding" not in request.headers:
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "length_required", "the request has no body")
        return
    if not (length.isascii() and length.isdigit()):
        raise malformed("the content length is not a number")
    if int(length) > limits.body_bytes:
        raise _too_large(limits)


async def _received(request: Request, limits: Limits, share: Share) -> bytes:
    chunks = []
    total_bytes = 0
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise SenderGoneError
        chunk = message.get("body", b"")
        total_bytes += len(chunk)
        if total_bytes > limits.body_bytes:
            raise _too_large(limits)
        share.grow_to(total_bytes)
        chunks.append(chunk)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(limits: Limits) -> Refusal:
    return too_large(f"the body is larger than {limits.body_bytes} bytes")
