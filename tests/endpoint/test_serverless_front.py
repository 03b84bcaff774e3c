"""The front of a serverless endpoint where something goes wrong: in parts, without limits."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from prumo.errors import UnavailableError
from prumo.machine.kernel import CLEANUP_VARIABLE
from prumo_endpoint.exchange import LOCAL_HOST, Address, free_port
from prumo_endpoint.serverless import Settings
from prumo_endpoint.serverless.front import Front
from prumo_endpoint.serverless.proxy import Failure, InstanceConnection, Request, Response
from prumo_endpoint.serverless.worker import Worker, Workers
from prumo_endpoint.targets import serverless
from prumo_endpoint.targets.serverless import FRONT, _front

if TYPE_CHECKING:
    from collections.abc import Iterable

SETTINGS = Settings(64, 1.0, ("true",), max_concurrency=1)


class _Worker(Worker):
    """Does not start; ends when it may."""

    def __init__(self, may_end: threading.Event) -> None:
        self.address = Address(LOCAL_HOST, free_port())
        self._may_end = may_end

    def start(self) -> None:
        raise OSError(24, "Too many open files")

    def ending(self) -> str | None:
        return None

    def is_out_of_memory(self) -> bool:
        return False

    def last_output(self) -> str:
        return ""

    def stop(self, *, is_killed: bool = False) -> None:
        del is_killed
        assert self._may_end.wait(60)


class _Workers(Workers):
    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.made: list[Worker] = []

    def new(self) -> Worker:
        self.made.append(_Worker(self.may_end))
        return self.made[-1]

    def prepare(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Client:
    """Where answers go."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[Response] = asyncio.Queue()

    def answer(self, response: Response, _added: Iterable[tuple[str, str]] = ()) -> None:
        self.answers.put_nowait(response)

    async def asked(self, front: Front) -> Response:
        request = Request(b"POST", b"/invocations", [], b"", keeps_connection=True)
        front.handle(self, request)  # type: ignore[arg-type]  # all that a front uses of one
        return await asyncio.wait_for(self.answers.get(), 60)


def test_an_error_of_the_system_is_a_start_that_failed_and_holds_no_place() -> None:
    async def answers() -> list[Response]:
        workers = _Workers()
        workers.may_end.set()
        front, client = Front(SETTINGS, workers), _Client()
        replies = [await client.asked(front), await client.asked(front)]
        assert [boot.failure for boot in front.boots()] == ["start_failed", "start_failed"]
        await front.close()
        return replies

    for reply in asyncio.run(answers()):
        assert reply.status == 500
        assert b"OSError: [Errno 24] Too many open files" in reply.body


def test_a_front_that_closes_starts_no_other_instance() -> None:
    async def answer() -> Response:
        workers = _Workers()
        front, client = Front(SETTINGS, workers), _Client()
        await client.asked(front)
        closing = asyncio.create_task(front.close())
        await asyncio.sleep(0)
        reply = await client.asked(front)
        assert not closing.done()
        workers.may_end.set()
        await closing
        assert len(workers.made) == 1
        return reply

    reply = asyncio.run(answer())

    assert reply.status == 503
    assert b'"closing"' in reply.body


class _Wire(asyncio.Transport):
    def write(self, _data: Any) -> None:
        pass

    def abort(self) -> None:
        pass


@pytest.mark.parametrize("method", [b"POST", b"HEAD"])
@pytest.mark.parametrize("is_one_segment", [True, False])
def test_an_answer_after_an_announcement_is_not_lost(method: bytes, is_one_segment: bool) -> None:
    results: list[Response | Failure] = []
    body = b"" if method == b"HEAD" else b"abc"
    parts = [
        b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + body,
    ]
    connection = InstanceConnection()
    connection.connection_made(_Wire())
    connection.send(Request(method, b"/", [], b"", keeps_connection=True), results.append)
    for data in [b"".join(parts)] if is_one_segment else parts:
        connection.data_received(data)

    (result,) = results
    assert isinstance(result, Response)
    assert (result.status, result.reason, result.body) == (200, b"OK", body)
    assert result.headers == [(b"Content-Length", b"3")]


def test_a_front_can_be_started_by_hand_and_ends_with_its_input() -> None:
    environment = {name: value for name, value in os.environ.items() if name != CLEANUP_VARIABLE}
    ended = subprocess.run(
        [sys.executable, "-m", FRONT],
        input=b"",
        capture_output=True,
        env=environment,
        check=False,
    )

    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_front_that_has_ended_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serverless, "FRONT", "prumo_nowhere")

    def ask_twice() -> None:
        with _front() as control:
            control._process.wait()
            with pytest.raises(UnavailableError, match=r"has ended: .*No module named"):
                control.ask("{}")
            control.ask("{}")

    with pytest.raises(UnavailableError, match=r"has ended: .*No module named"):
        ask_twice()


def test_a_header_of_the_front_replaces_the_servers_own() -> None:
    response = Response(200, b"OK", [(b"x-prumo-boot-id", b"own"), (b"x-other", b"kept")], b"")

    encoded = response.encoded([("X-Prumo-Boot-Id", "b1")], keeps_connection=True)

    assert encoded.lower().count(b"x-prumo-boot-id") == 1
    assert b"X-Prumo-Boot-Id: b1\r\n" in encoded
    assert b"x-other: kept\r\n" in encoded
