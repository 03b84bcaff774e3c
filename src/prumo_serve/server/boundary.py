"""Around every request: errors become answers, the log gets a line, the caller its header back."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING

from prumo_serve.server.log import RequestRecord, log_request
from prumo_serve.server.refusal import (
    Refusal,
    malformed,
    not_ready,
    queue_full,
    too_large,
    too_slow,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from prumo_serve.server.service import Service
    from prumo_serve.server.settings import Limits

_LOG = logging.getLogger("prumo_serve.server")
_ATTRIBUTES = b"x-amzn-sagemaker-custom-attributes"
_MOST_ATTRIBUTE_BYTES = 1024
_BOOT_ID_ATTRIBUTE = b"prumo-boot-id"
"""Asks for the boot id where a platform passes no other header on."""
BOOT_ID_HEADER = "X-Prumo-Boot-Id"
# As SageMaker defines it: visible ASCII, blanks only inside.
_VISIBLE = re.compile(rb"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?|")
# Not of HTTP, but as NGINX logs it: nobody is there to be answered.
_SENDER_GONE = 499
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_OPEN_INFERENCE = "/v2"
_ECHOING_PATH = "/invocations"
_DEFECT = Refusal(
    HTTPStatus.INTERNAL_SERVER_ERROR, "defect", "internal server error; see the server's log"
)


class Boundary:
    """The outermost layer of the application that is ours."""

    def __init__(self, app: ASGIApp, service: Service, routes: Mapping[object, str]) -> None:
        self._app = app
        self._service = service
        self._routes = routes
        """What answers → its path, which is what logs name: what a sender asks for is his."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._service)
        try:
            exchange.read_attributes()
            await self._app(scope, exchange.receive, exchange.send)
        except Refusal as refusal:
            await exchange.refuse(refusal)
        except asyncio.CancelledError:
            # Only the end of the server cancels requests, after waiting for them.
            await exchange.refuse(not_ready("the server is shutting down"))
        except SenderGoneError:
            exchange.status = _SENDER_GONE
        except Exception:  # noqa: BLE001 (no request may end without an answer)
            _LOG.exception("a request failed for a reason that is a defect of the server's")
            await exchange.refuse(_DEFECT)
        finally:
            exchange.record(self._routes.get(scope.get("endpoint"), "(unknown)"))


class _Exchange:
    """One request and its answer, counted."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, service: Service) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._service = service
        self._began = perf_counter()
        self._attributes: bytes | None = None
        self._boot_id = service.settings.boot_id.encode()
        self.status = 0
        self._received_bytes = 0
        self._sent_bytes = 0

    def read_attributes(self) -> None:
        """Keep the caller's own header, which the answer carries back; refuse a wrong one."""
        if self._scope["path"] != _ECHOING_PATH:
            return
        found = [value for name, value in self._scope["headers"] if name == _ATTRIBUTES]
        if not found:
            return
        value = found[0].strip()
        if len(found) > 1 or len(value) > _MOST_ATTRIBUTE_BYTES or not _VISIBLE.fullmatch(value):
            raise Refusal(
                HTTPStatus.BAD_REQUEST,
                "bad_attributes",
                "X-Amzn-SageMaker-Custom-Attributes must be one header of at most "
                f"{_MOST_ATTRIBUTE_BYTES} visible ASCII characters",
            )
        if value == _BOOT_ID_ATTRIBUTE:
            value += b"=" + self._boot_id
        self._attributes = value

    async def receive(self) -> Message:
        """What the sender sends."""
        message = await self._receive()
        self._received_bytes += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        """What the application answers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = message.setdefault("headers", [])
            headers.append((BOOT_ID_HEADER.lower().encode(), self._boot_id))
            if self._attributes is not None:
                headers.append((_ATTRIBUTES, self._attributes))
            if self._service.is_draining:
                headers.append((b"connection", b"close"))
        else:
            self._sent_bytes += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with an error, if nothing has been answered yet."""
        if self.status:
            return
        # The Open Inference Protocol wants a string where we have an object.
        is_open_inference = self._scope["path"].startswith(_OPEN_INFERENCE)
        document = {"error": str(refusal)} if is_open_inference else refusal.document
        body = json.dumps(document).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *((name.encode(), value.encode()) for name, value in refusal.headers.items()),
        ]
        await self.send(
            {"type": "http.response.start", "status": int(refusal.status), "headers": headers}
        )
        await self.send({"type": "http.response.body", "body": body})

    def record(self, route: str) -> None:
        """Write the line of the log and count."""
        seconds = perf_counter() - self._began
        record = RequestRecord(
            # Any word is a method to HTTP, and each would be a series of its own to Prometheus.
            method=self._scope["method"] if self._scope["method"] in _METHODS else "OTHER",
            route=route,
            status=self.status,
            seconds=round(seconds, 6),
            received_bytes=self._received_bytes,
            sent_bytes=self._sent_bytes,
        )
        self._service.metrics.count_request(record)
        log_request(record)


class SenderGoneError(Exception):
    """The sender hung up before it had sent everything; nobody is there to be answered."""


async def read_body(request: Request, limits: Limits, take: Callable[[int], None]) -> bytes:
    """The whole body, whose bytes are taken of a `ByteBudget`.

    Raises:
        Refusal: It is too large or too slow, or the server holds too much already.
        SenderGoneError: It broke off.
    """
    _check_length(request, limits)
    try:
        async with asyncio.timeout(limits.body_seconds):
            return await _received(request, limits, take)
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


async def _received(request: Request, limits: Limits, take: Callable[[int], None]) -> bytes:
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
        take(len(chunk))
        chunks.append(chunk)
        more = message.get("more_body", False)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(limits: Limits) -> Refusal:
    return too_large(f"the body is larger than {limits.body_bytes} bytes")


class ByteBudget:
    """Bytes that requests take as they arrive and give back when they are answered.

    Without it, many slow senders of large bodies would fill the memory. Only the event loop asks.
    """

    def __init__(self, total_bytes: int) -> None:
        self._free_bytes = total_bytes

    @contextmanager
    def share(self) -> Iterator[Callable[[int], None]]:
        """What takes so many more bytes for one request; they are given back at the end."""
        taken_bytes = 0

        def take(more_bytes: int) -> None:
            nonlocal taken_bytes
            if more_bytes > self._free_bytes:
                raise queue_full("too many bytes of other requests wait already; try again later")
            self._free_bytes -= more_bytes
            taken_bytes += more_bytes

        try:
            yield take
        finally:
            self._free_bytes += taken_bytes
