"""`prumo serve` as a real process, asked over real connections."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prumo_serve.server.settings import Settings

PATIENCE_SECONDS = 60.0
_ADDRESS = re.compile(r"listening at http://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass
class ServedProcess:
    """A server that runs; its log is a file."""

    process: subprocess.Popen[bytes]
    log_path: Path
    port: int = 0
    statuses: list[int] = field(default_factory=list)
    """That /ping gave until it gave 200."""

    @property
    def log(self) -> str:
        return self.log_path.read_text("utf-8")

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, told, answer.read())
        finally:
            connection.close()

    def classify(self, image: bytes, headers: dict[str, str] | None = None) -> Answer:
        wanted = {"Content-Type": "image/jpeg"} | (headers or {})
        return self.ask("POST", "/invocations", image, wanted)

    def await_ready(self) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while 200 not in self.statuses:
            assert time.monotonic() < until, self.log
            assert self.process.poll() is None, self.log
            self.statuses.append(self.ask("GET", "/ping").status)
            time.sleep(0.02)

    def processes(self) -> list[psutil.Process]:
        leader = psutil.Process(self.process.pid)
        return [leader, *leader.children(recursive=True)]


@contextmanager
def served_process(package: Path, log_path: Path, *options: str) -> Iterator[ServedProcess]:
    """A server at a free port, not ready yet; nothing of it is left when the block ends."""
    command = [sys.executable, "-m", "prumo", "serve", str(package), "--port", "0", *options]
    with running_process(command, log_path) as server:
        yield server


@contextmanager
def served_with_settings(settings: Settings, log_path: Path) -> Iterator[ServedProcess]:
    """The same with settings that no flag has, such as short limits."""
    script = (
        "import sys; from prumo_serve.server.settings import Settings; "
        "from prumo_serve.server.stacks import run_stack; "
        "settings = Settings.from_json(sys.argv[1]); run_stack(settings)"
    )
    command = [sys.executable, "-c", script, replace(settings, port=0).to_json()]
    with running_process(command, log_path) as server:
        yield server


@contextmanager
def running_process(command: Sequence[str], log_path: Path) -> Iterator[ServedProcess]:
    """Any command that serves and tells its address in its log."""
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, process_group=0)
    server = ServedProcess(process, log_path)
    try:
        server.port = _port(server)
        yield server
    finally:
        _end(server)


def _end(server: ServedProcess) -> None:
    """Ask first, so that nothing stays on the disk; then see to it."""
    with suppress(psutil.NoSuchProcess):
        processes = server.processes()
        server.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(PATIENCE_SECONDS)
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    server.process.wait()


def _port(server: ServedProcess) -> int:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until and server.process.poll() is None:
        if match := _ADDRESS.search(server.log):
            return int(match[1])
        time.sleep(0.02)
    return 0
