"""A server that people mistreat with broken HTTP and crowds; it answers the next one as ever."""

from __future__ import annotations

import io
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from prumo_serve.server.settings import Limits, Settings
from support.model_packages import write_colour_package
from support.raw_connection import connected, post, replies, request, said
from support.served_process import served_with_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.raw_connection import Reply
    from support.served_process import ServedProcess

MEBIBYTE = 1024**2
HEADER_BYTES = 8 * 1024
QUEUED_IMAGES = 64
CROWD = 200
CLOSE = b"Connection: close"


def jpeg() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), (220, 20, 20)).save(file, "JPEG")
    return file.getvalue()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    folder = tmp_path_factory.mktemp("abused")
    write_colour_package(folder / "package")
    limits = Limits(
        body_bytes=MEBIBYTE,
        header_bytes=HEADER_BYTES,
        header_seconds=1.0,
        body_seconds=1.0,
        queued_images=QUEUED_IMAGES,
    )
    with served_with_settings(
        Settings(folder / "package", limits=limits), folder / "log"
    ) as running:
        running.await_ready()
        yield running


@pytest.fixture(autouse=True)
def _lives_on(server: ServedProcess) -> Iterator[None]:
    """After each of these tests the server is the same, ready, and right."""
    yield
    assert server.ask("GET", "/ping").status == 200
    assert server.classify(jpeg()).document["label"] == "red"
    assert "defect" not in server.log


class TestHeaders:
    @pytest.mark.parametrize(
        "head",
        [
            b"GET /ping?%s HTTP/1.1\r\nHost: a\r\n\r\n" % (b"a" * 70_000),
            b"GET /ping HTTP/1.1\r\nHost: a\r\nX: %s\r\n\r\n" % (b"a" * 70_000),
            b"GET /ping HTTP/1.1\r\nHost: a\r\n%s\r\n" % (b"X: a\r\n" * 10_000),
            b"GET /ping HTTP/1.1\r\n" + b"a" * 70_000,
            b"a" * 70_000,
        ],
        ids=["a huge address", "a huge header", "many headers", "a huge name", "a huge method"],
    )
    def test_that_are_too_large_are_refused(self, server: ServedProcess, head: bytes) -> None:
        (reply,) = said(server, head)

        assert reply.status in {400, 431}
        assert reply.headers["connection"] == "close"

    @pytest.mark.parametrize(
        "head",
        [
            b"\0\1\2\3\r\n\r\n",
            b"GET /ping HTTP/9.9\r\n\r\n",
            b"GET /ping HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
            b"GET /ping HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        ],
        ids=["bytes", "HTTP/9.9", "no colon", "a null", "HTTP/2", "TLS"],
    )
    def test_that_are_not_http_are_400(self, server: ServedProcess, head: bytes) -> None:
        (reply,) = said(server, head)

        assert (reply.status, reply.kind) == (400, "malformed")


class TestSenders:
    def test_who_send_many_requests_at_once_are_answered_in_order(
        self, server: ServedProcess
    ) -> None:
        ping, bad = b"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n", post(b"no image")
        sent = (post(jpeg()) + ping + bad) * 20 + post(jpeg(), CLOSE)

        statuses = [reply.status for reply in said(server, sent)]
        assert statuses == [200, 200, 400] * 20 + [200]

    def test_who_have_said_all_are_still_answered(self, server: ServedProcess) -> None:
        with connected(server) as connection:
            connection.sendall(post(jpeg()))
            connection.shutdown(socket.SHUT_WR)
            assert [reply.status for reply in replies(connection)] == [200]

    def test_who_hang_up_at_any_moment_leave_nothing_behind(self, server: ServedProcess) -> None:
        sent = post(jpeg())
        files_before = open_files(server)
        for length in range(1, len(sent) + 1, len(sent) // 60):
            with connected(server) as connection:
                # Closed with a reset, not with an end.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.sendall(sent[:length])

        assert server.classify(jpeg()).status == 200
        assert open_files(server) <= files_before + 5

    def test_who_are_slow_keep_nobody_else_out(self, server: ServedProcess) -> None:
        body_sender, header_sender = request(b"Content-Length: 1000") + b"a", b"GET /ping HTTP/1.1"
        with ExitStack() as stack:
            slow = [stack.enter_context(connected(server)) for _ in range(100)]
            for number, connection in enumerate(slow):
                connection.sendall(body_sender if number % 2 else header_sender)
            others = [server.classify(jpeg()).status for _ in range(10)]
            found = [replies(connection) for connection in slow]

        assert others == [200] * 10
        assert [[reply.status for reply in one] for one in found] == [[408]] * 100

    def test_of_a_crowd_are_all_answered_or_asked_to_come_again(
        self, server: ServedProcess
    ) -> None:
        with ExitStack() as stack:
            crowd = [stack.enter_context(connected(server)) for _ in range(CROWD)]
            for connection in crowd:
                connection.sendall(post(jpeg(), CLOSE))
            found = [reply for connection in crowd for reply in replies(connection)]

        assert len(found) == CROWD
        assert {reply.status for reply in found} <= {200, 429}
        assert sum(reply.status == 200 for reply in found) >= QUEUED_IMAGES
        assert all(is_properly_refused(reply) for reply in found if reply.status == 429)

    def test_of_lists_that_together_are_too_long_are_asked_to_come_again(
        self, server: ServedProcess
    ) -> None:
        file = io.BytesIO()
        np.save(file, np.zeros((40, 8, 8, 3), np.uint8))
        headers = {"Content-Type": "application/x-npy"}
        with ThreadPoolExecutor(16) as pool:
            asked = [
                pool.submit(server.ask, "POST", "/invocations", file.getvalue(), headers)
                for _ in range(64)
            ]
            found = [one.result() for one in asked]

        assert {answer.status for answer in found} <= {200, 429}
        assert all("retry-after" in answer.headers for answer in found if answer.status == 429)


def is_properly_refused(reply: Reply) -> bool:
    return reply.kind == "queue_full" and int(reply.headers["retry-after"]) >= 1


def open_files(server: ServedProcess) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
