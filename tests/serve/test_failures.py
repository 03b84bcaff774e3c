"""What fails while a server is asked: its network, its model on disk, and the server's own end."""

from __future__ import annotations

import io
import os
import shutil
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil
import pytest
from PIL import Image

from prumo_serve.manifest import ImagePreprocessing, Input, Manifest, NetworkFile, Origin, Output
from prumo_serve.package import open_package, write_package
from prumo_serve.source.pytorch_export import write_harmless
from support.busy_clients import CLIENTS, NOT_LET_IN, busy_clients
from support.model_packages import ColourNetwork, write_colour_package
from support.runtime_networks import SIZE, write_in_framework
from support.served_process import PATIENCE_SECONDS, running_process, served_process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import FrameworkPython
    from support.served_process import ServedProcess

needs_nginx = pytest.mark.skipif(
    shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") is None,
    reason="NGINX is not installed",
)
STACKS = ["lean", pytest.param("nginx", marks=needs_nginx)]


@pytest.fixture(scope="module")
def red() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), (220, 20, 20)).save(file, "JPEG")
    return file.getvalue()


@pytest.mark.parametrize("stack", STACKS)
def test_an_end_under_load_leaves_no_request_without_its_answer(
    tmp_path: Path, red: bytes, stack: str
) -> None:
    write_colour_package(tmp_path / "package")
    options = ("--stack", stack, "--workers", "2", "--threads", "1")
    with served_process(tmp_path / "package", tmp_path / "log", *options) as server:
        server.await_ready()
        with busy_clients(server, red) as clients:
            wait_until(lambda: clients.outcomes[200] > 50)
            server.process.send_signal(signal.SIGTERM)
            clients.join()
        code = server.process.wait(PATIENCE_SECONDS)

    assert clients.outcomes.keys() <= {200, 503, NOT_LET_IN}
    assert clients.outcomes[NOT_LET_IN] <= CLIENTS
    assert code == 0


# Connects in the middle of the server's own step from listening to not listening.
WAITING_AT_THE_DOOR = """
import logging, socket, sys
from pathlib import Path
from prumo_serve.server.settings import Settings
from prumo_serve.server.stacks import run_stack

waiting = []

def connect(record):
    if record.getMessage().startswith("shutting down"):
        for _ in range(20):
            waiting.append(socket.create_connection(("127.0.0.1", int(sys.argv[2]))))
            waiting[-1].sendall(b"GET /v2/health/live HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
    return True

logging.getLogger("prumo_serve.server").addFilter(connect)
run_stack(Settings(Path(sys.argv[1]), port=int(sys.argv[2])))
print("answers:", *(connection.recv(65536).split()[1].decode() for connection in waiting))
"""


def test_an_end_does_not_hit_those_who_wait_at_the_door(tmp_path: Path) -> None:
    write_colour_package(tmp_path / "package")
    command = [sys.executable, "-c", WAITING_AT_THE_DOOR, str(tmp_path / "package")]
    with running_process([*command, str(free_port())], tmp_path / "log") as server:
        server.await_ready()
        # Until it has noticed that nobody is connected, it would wait for more to come.
        wait_until(lambda: connections(server) == 0)
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(PATIENCE_SECONDS)

    assert code == 0
    assert "answers:" + " 200" * 20 in server.log


def corrupt(package: Path) -> None:
    network = bytearray((package / "network.onnx").read_bytes())
    network[len(network) // 2] ^= 0xFF
    (package / "network.onnx").write_bytes(network)


def replace_all(package: Path) -> None:
    write_colour_package(package.with_name("other"), network=ColourNetwork(sharpness=2.0))
    for file in package.with_name("other").iterdir():
        file.replace(package / file.name)


def remove(package: Path) -> None:
    shutil.rmtree(package)


@pytest.mark.parametrize(
    ("damage", "stack"),
    [
        (corrupt, "lean"),
        (remove, "lean"),
        pytest.param(replace_all, "nginx", marks=needs_nginx),
    ],
)
def test_a_model_that_is_damaged_under_load_makes_the_server_not_ready_and_no_request_fail(
    tmp_path: Path, red: bytes, damage: Callable[[Path], None], stack: str
) -> None:
    package = tmp_path / "package"
    write_colour_package(package)
    workers = 2 if stack == "nginx" else 1
    options = ("--stack", stack, "--workers", str(workers))
    with served_process(package, tmp_path / "log", *options) as server:
        server.await_ready()
        wait_until(lambda: server.log.count("ready after") == workers)
        with busy_clients(server, red, clients=4) as clients:
            damage(package)
            wait_until(lambda: server.ask("GET", "/ping").status == 503)
            # Each worker looks for itself, and not more than once in a second.
            time.sleep(1.1)
        readiness = [server.ask("GET", path).status for path in ("/ping", "/v2/health/ready")]
        reason = server.ask("GET", "/ping").document["error"]["message"]

    assert readiness == [503, 503]
    assert "of the model was changed on disk" in reason
    assert clients.outcomes.keys() == {200}


@needs_nginx
def test_a_worker_that_finds_another_model_than_the_others_have_ends_the_server(
    tmp_path: Path,
) -> None:
    package = tmp_path / "package"
    write_colour_package(package)
    options = ("--stack", "nginx", "--workers", "2")
    with served_process(package, tmp_path / "log", *options) as server:
        server.await_ready()
        wait_until(lambda: server.log.count("ready after") == 2)
        replace_all(package)
        _master, worker, _other = processes_of(server, "gunicorn")
        worker.kill()
        code = server.process.wait(PATIENCE_SECONDS)

    assert code == 2
    assert "it is not what the other workers serve" in server.log


def test_an_archive_that_is_replaced_makes_the_server_not_ready(tmp_path: Path) -> None:
    archive, other = tmp_path / "model.tar.gz", tmp_path / "other.tar.gz"
    write_colour_package(archive)
    write_colour_package(other, network=ColourNetwork(sharpness=2.0))
    with served_process(archive, tmp_path / "log") as server:
        server.await_ready()
        other.replace(archive)
        wait_until(lambda: server.ask("GET", "/ping").status == 503)


def no_network(content: Path) -> None:
    (content / "network.onnx").write_bytes(b"no network")


def another_size(content: Path) -> None:
    write_colour_package(content.with_name("larger"), network=ColourNetwork(size=64))
    (content.with_name("larger") / "network.onnx").replace(content / "network.onnx")


@pytest.mark.parametrize("spoil", [no_network, another_size])
def test_a_network_that_does_not_answer_ends_the_server_before_it_was_ever_ready(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    content = tmp_path / "content"
    write_colour_package(content)
    manifest = open_package(content).manifest
    spoil(content)
    # Written again, so that its hashes are right.
    write_package(content, manifest, tmp_path / "package")

    with served_process(tmp_path / "package", tmp_path / "log") as server:
        statuses = pings_until_the_end(server)
        code = server.process.wait(PATIENCE_SECONDS)

    assert code == 2
    assert set(statuses) <= {503}
    assert "prumo: " in server.log
    assert "Traceback" not in server.log


@pytest.mark.frameworks
def test_a_framework_that_is_killed_under_load_is_started_again(
    tmp_path: Path, red: bytes, framework_python: FrameworkPython
) -> None:
    write_pytorch_package(tmp_path, framework_python("pytorch"))
    with served_process(tmp_path / "package", tmp_path / "log") as server:
        server.await_ready()
        with busy_clients(server, red, clients=4) as clients:
            wait_until(lambda: clients.outcomes[200] > 20)
            framework_process(server).kill()
            wait_until(lambda: server.ask("GET", "/ping").status == 503)
            wait_until(lambda: server.ask("GET", "/ping").status == 200)
            before = clients.outcomes[200]
            wait_until(lambda: clients.outcomes[200] > before + 20)
        # The one that failed is let go of.
        wait_until(lambda: len(server.processes()) == 2)

    assert clients.outcomes[503] > 0
    assert clients.outcomes.keys() == {200, 503}


def write_pytorch_package(folder: Path, python: Path) -> None:
    content = folder / "content"
    content.mkdir()
    write_harmless(
        write_in_framework(python, "pytorch", folder) / "network.pt2", content / "network.pt2"
    )
    manifest = Manifest(
        name="small",
        task="classification",
        labels=("one", "two", "three"),
        input=Input(tensor="images", height=SIZE, width=SIZE, preprocessing=ImagePreprocessing()),
        output=Output(tensor="answers", kind="scores", activation="softmax"),
        network=NetworkFile(file="network.pt2", runtime="pytorch"),
        origin=Origin(format="pytorch", name="network.pt2", sha256="0" * 64),
    )
    write_package(content, manifest, folder / "package")


def connections(server: ServedProcess) -> int:
    found = psutil.Process(server.process.pid).net_connections("tcp")
    return sum(one.status != psutil.CONN_LISTEN for one in found)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def processes_of(server: ServedProcess, program: str) -> list[psutil.Process]:
    """Parents before their children."""
    return [one for one in server.processes() if program in " ".join(one.cmdline())]


def framework_process(server: ServedProcess) -> psutil.Process:
    (process,) = psutil.Process(server.process.pid).children()
    return process


def pings_until_the_end(server: ServedProcess) -> list[int]:
    statuses = []
    while server.process.poll() is None:
        with suppress(OSError):
            statuses.append(server.ask("GET", "/ping").status)
    return statuses


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)
