"""Limits on time and places: a server with a slow network and little patience."""

from __future__ import annotations

import asyncio
import io
import json
import select
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from prumo_serve.server.service import Service
from prumo_serve.server.settings import Limits, Settings
from support.model_packages import write_colour_package
from support.served_process import PATIENCE_SECONDS, served_with_settings
from support.slow_network import SlowColourNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.served_process import ServedProcess

HEAD = (
    b"POST /invocations HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    b"Content-Type: image/jpeg\r\nContent-Length: "
)


@pytest.fixture(scope="module")
def image() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), (220, 20, 20)).save(file, "JPEG")
    return file.getvalue()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slow") / "package"
    write_colour_package(path, network=SlowColourNetwork(convolutions=4))
    return path


@pytest.fixture(scope="module")
def server(package: Path) -> Iterator[ServedProcess]:
    limits = Limits(
        header_seconds=0.5,
        body_seconds=0.5,
        queued_images=2,
        waiting_bytes=300_000,
        body_bytes=200_000,
        timeout_seconds=PATIENCE_SECONDS,
    )
    settings = Settings(package, max_batch=1, limits=limits)
    with served_with_settings(settings, package.with_name("log")) as running:
        running.await_ready()
        yield running


def test_headers_that_do_not_come_are_408(server: ServedProcess) -> None:
    assert told(server, b"GET /ping HTTP/1.1\r\nHost: ") == (408, "too_slow")


def test_a_connection_that_says_nothing_is_closed_without_a_word(server: ServedProcess) -> None:
    assert said(server, b"") == b""


def test_headers_that_trickle_are_408(server: ServedProcess) -> None:
    with connected(server) as connection:
        for byte in b"GET /ping HTTP/1.1\r\nX: " + b"x" * 200:
            connection.send(bytes([byte]))
            if select.select([connection], [], [], 0.02)[0]:
                break
        answer = connection.recv(65536)

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_body_that_does_not_come_is_408(server: ServedProcess) -> None:
    assert told(server, HEAD + b"1000\r\n\r\nabc") == (408, "too_slow")


def test_an_idle_connection_between_requests_is_kept(server: ServedProcess) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    statuses = []
    for _ in range(2):
        connection.request("GET", "/ping")
        with connection.getresponse() as answer:
            statuses.append((answer.status, answer.read() != b""))
        time.sleep(0.7)

    assert statuses == [(200, True)] * 2
    assert connection.sock is not None
    connection.close()


def test_a_full_queue_is_429_and_everybody_else_is_answered(
    server: ServedProcess, image: bytes
) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.classify(image), range(8)))

    statuses = [answer.status for answer in answers]
    assert set(statuses) == {200, 429}
    refused = next(answer for answer in answers if answer.status == 429)
    assert refused.headers["retry-after"] == "1"
    assert refused.document["error"]["kind"] == "queue_full"
    assert server.classify(image).status == 200


def test_bodies_that_would_fill_the_memory_are_429(server: ServedProcess, image: bytes) -> None:
    large = HEAD + b"150000\r\n\r\n" + bytes(140_000)
    with connected(server) as first, connected(server) as second:
        first.sendall(large)
        second.sendall(large)
        third = told(server, large + bytes(10_000))
        first.recv(65536)
        second.recv(65536)

    assert third == (429, "queue_full")
    assert server.classify(image).status == 200


def test_requests_that_take_too_long_are_504_and_those_that_wait_too_long_503(
    package: Path, image: bytes
) -> None:
    service = Service(Settings(package, max_batch=1, limits=Limits(timeout_seconds=0.05)))
    service.begin_loading()
    assert service.wait_until_loaded(PATIENCE_SECONDS)

    async def answers() -> list[Any]:
        asked = (service.engine.ask([image]) for _ in range(4))
        return await asyncio.gather(*asked, return_exceptions=True)

    kinds = {(refusal.status, refusal.kind) for refusal in asyncio.run(answers())}
    service.close()

    assert kinds == {(504, "took_too_long"), (503, "waited_too_long")}


def connected(server: ServedProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), PATIENCE_SECONDS)


def said(server: ServedProcess, sent: bytes) -> bytes:
    """What comes back until the server closes the connection."""
    with connected(server) as connection:
        connection.sendall(sent)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def told(server: ServedProcess, sent: bytes) -> tuple[int, str]:
    """Status and kind of an error."""
    head, _, body = said(server, sent).partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["kind"]
