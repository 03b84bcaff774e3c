"""NGINX, Gunicorn and its workers as one server: real processes, killed and ended for real."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import IncompleteRead
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from PIL import Image

from prumo.errors import UnavailableError
from prumo_serve.server import nginx
from prumo_serve.server.settings import Settings
from support.model_packages import write_colour_package
from support.served_process import PATIENCE_SECONDS, served_process
from support.slow_network import SlowColourNetwork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.served_process import ServedProcess

needs_nginx = pytest.mark.skipif(
    shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") is None,
    reason="NGINX is not installed",
)
LARGEST_BODY_BYTES = 1024**2


@pytest.fixture(scope="module")
def red() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), (220, 20, 20)).save(file, "JPEG")
    return file.getvalue()


@contextmanager
def stack(
    folder: Path, *options: str, workers: int = 2, network: SlowColourNetwork | None = None
) -> Iterator[ServedProcess]:
    write_colour_package(folder / "package", network=network)
    words = ("--stack", "nginx", "--workers", str(workers), "--threads", "1", *options)
    with served_process(folder / "package", folder / "log", *words) as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedProcess]:
    with stack(tmp_path_factory.mktemp("stack"), "--max-body-mb", "1") as running:
        running.await_ready()
        yield running


@needs_nginx
class TestTheWholeStack:
    def test_is_ready_when_a_worker_is_and_says_503_until_then(self, server: ServedProcess) -> None:
        assert server.statuses[-1] == 200
        assert server.statuses[0] == 503
        assert set(server.statuses) == {200, 503}

    def test_answers_what_the_workers_answer(self, server: ServedProcess, red: bytes) -> None:
        answer = server.classify(red, {"X-Amzn-SageMaker-Custom-Attributes": "case 7"})

        assert answer.status == 200
        assert answer.document["label"] == "red"
        assert answer.headers["server"] == "nginx"
        assert answer.headers["x-amzn-sagemaker-custom-attributes"] == "case 7"

    def test_answers_with_one_boot_id_for_all_workers(
        self, server: ServedProcess, red: bytes
    ) -> None:
        with ThreadPoolExecutor(4) as clients:
            answers = list(clients.map(server.classify, [red] * 8))
        answers.append(server.classify(bytes(LARGEST_BODY_BYTES + 1)))

        (boot_id,) = {answer.headers["x-prumo-boot-id"] for answer in answers}
        assert [answer.status for answer in answers] == [*[200] * 8, 413]
        assert answers[0].document["boot_id"] == boot_id

    def test_refuses_bad_images_in_the_workers_words(self, server: ServedProcess) -> None:
        answer = server.classify(b"no image at all")

        assert answer.status == 400
        assert answer.document["error"]["kind"] == "unreadable_image"

    def test_refuses_large_bodies_in_its_own_words(self, server: ServedProcess) -> None:
        attributes = {"X-Amzn-SageMaker-Custom-Attributes": "case 8"}
        answer = server.classify(bytes(LARGEST_BODY_BYTES + 1), attributes)

        assert answer.status == 413
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-amzn-sagemaker-custom-attributes"] == "case 8"
        assert answer.document == {
            "error": {"kind": "too_large", "message": "the body is larger than 1048576 bytes"}
        }

    def test_refuses_large_headers_and_tells_nobody_what_they_held(
        self, server: ServedProcess
    ) -> None:
        answer = server.ask("GET", "/ping", headers={"X-Secret": "secret" * 4000})

        assert answer.status == 431
        assert answer.document["error"]["kind"] == "headers_too_large"
        assert "refused by NGINX 431" in _awaited_log(server, "NGINX 431")
        assert "secret" not in server.log

    @pytest.mark.parametrize("sent", [b"NONSENSE\r\n\r\n", b"GET /\x01 HTTP/1.1\r\n\r\n"])
    def test_refuses_what_is_not_http(self, server: ServedProcess, sent: bytes) -> None:
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE_SECONDS) as connection:
            connection.sendall(sent)
            answer = connection.makefile("rb").read()

        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b'"kind": "malformed"' in answer

    def test_counts_what_all_workers_answer_together(
        self, server: ServedProcess, red: bytes
    ) -> None:
        before = _answered(server)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(server.classify, [red] * 12))

        # A worker counts a request once its answer is on its way.
        _await(lambda: _answered(server) - before >= 12)
        assert [_answered(server) - before for _ in range(4)] == [12] * 4

    def test_loses_at_most_one_half_sent_answer_when_a_worker_is_killed_and_replaces_it(
        self, server: ServedProcess, red: bytes
    ) -> None:
        killed, other = _workers(server)
        with ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(server.classify, red) for _ in range(400)]
            answers[40].result()
            killed.kill()
            halves = [one for one in answers if isinstance(one.exception(), IncompleteRead)]
            statuses = {one.result().status for one in answers if one not in halves}

        assert statuses == {200}
        # An answer whose headers had left when the worker was killed cannot be had again.
        assert len(halves) <= 1
        _await(lambda: len(_workers(server)) == 2)
        assert other in _workers(server)
        assert killed not in _workers(server)
        assert server.ask("GET", "/ping").status == 200

    def test_leaves_nothing_running_when_it_is_killed(self, server: ServedProcess) -> None:
        """The last of these: the server is gone after it."""
        folder, processes = _folder(server), server.processes()
        server.process.kill()
        _await(lambda: not any(_is_alive(process) for process in processes))

        shutil.rmtree(folder)


@needs_nginx
def test_a_server_refuses_until_it_can_answer_and_ends_when_it_has_answered(
    tmp_path: Path, red: bytes
) -> None:
    with stack(tmp_path, network=SlowColourNetwork()) as server:
        early, living = server.classify(red), server.ask("GET", "/v2/health/live")
        server.await_ready()
        folder, processes = _folder(server), server.processes()
        with ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(server.classify, red) for _ in range(4)]
            _await(lambda: _requests_under_way(server) >= 4)
            server.process.send_signal(signal.SIGTERM)
            _await(lambda: "shutting down" in server.log)
            draining = server.ask("GET", "/ping")
            statuses = [answer.result().status for answer in answers]
        code = server.process.wait(PATIENCE_SECONDS)

    assert (early.status, early.document["error"]["kind"]) == (503, "not_ready")
    assert living.status == 200
    assert draining.status == 503
    assert statuses == [200] * 4
    assert code == 0
    assert not folder.exists()
    assert not [process for process in processes if process.is_running()]


@needs_nginx
@pytest.mark.parametrize("name", ["nginx", "gunicorn"])
def test_the_death_of_a_part_ends_the_whole_with_an_error(tmp_path: Path, name: str) -> None:
    with stack(tmp_path, workers=1) as server:
        server.await_ready()
        folder, processes = _folder(server), server.processes()
        part = {"nginx": _nginx_master, "gunicorn": _gunicorn_master}[name](server)
        part.kill()
        code = server.process.wait(PATIENCE_SECONDS)
        _await(lambda: not any(process.is_running() for process in processes))

    assert code == 2
    assert re.search(f"(?i){name} has ended with code -9", server.log)
    assert not folder.exists()


@needs_nginx
def test_a_model_that_cannot_be_loaded_ends_the_server_with_the_reason(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "package")
    (tmp_path / "package" / "network.onnx").write_bytes(b"no network")

    words = ("--stack", "nginx", "--workers", "1")
    with served_process(tmp_path / "package", tmp_path / "log", *words) as server:
        code = server.process.wait(PATIENCE_SECONDS)

    assert code == 2
    assert "network.onnx" in server.log
    assert "Gunicorn has ended with code 3" in server.log


def test_a_machine_without_nginx_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nginx, "_PROGRAM_FOLDERS", (str(tmp_path),))

    with pytest.raises(UnavailableError, match="--stack lean"):
        nginx.run(Settings(tmp_path))


def _answered(server: ServedProcess) -> float:
    text = server.ask("GET", "/metrics").body.decode()
    pattern = r'prumo_requests_total\{method="POST",route="/invocations",status="200"\} (\S+)'
    found = re.search(pattern, text)
    return float(found[1]) if found else 0.0


def _requests_under_way(server: ServedProcess) -> int:
    """Connections that NGINX's worker has accepted."""
    (worker,) = _nginx_master(server).children()
    statuses = [connection.status for connection in worker.net_connections("tcp")]
    return statuses.count(psutil.CONN_ESTABLISHED)


def _nginx_master(server: ServedProcess) -> psutil.Process:
    return _child(server, "nginx: master")


def _gunicorn_master(server: ServedProcess) -> psutil.Process:
    return _child(server, "gunicorn")


def _child(server: ServedProcess, words: str) -> psutil.Process:
    children = psutil.Process(server.process.pid).children()
    (found,) = [child for child in children if words in " ".join(child.cmdline())]
    return found


def _workers(server: ServedProcess) -> list[psutil.Process]:
    return _gunicorn_master(server).children()


def _folder(server: ServedProcess) -> Path:
    words = _nginx_master(server).cmdline()
    found = re.search(r"-p (\S+)", " ".join(words))
    assert found is not None
    return Path(found[1])


def _is_alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _awaited_log(server: ServedProcess, words: str) -> str:
    _await(lambda: words in server.log)
    return server.log


def _await(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)
