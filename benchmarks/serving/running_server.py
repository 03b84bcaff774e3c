"""A server that was started: how long its first answer took and how much memory it holds."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Self

import psutil

from benchmarks.serving.load import OK, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.serving.contestants import Contestant

START_SECONDS = 180.0
STOP_SECONDS = 35.0
_LOOK_SECONDS = 0.01
_SHOWN_CHARACTERS = 2000


class RunningServer:
    """Runs from the first right answer on until the block ends."""

    def __init__(self, contestant: Contestant, port: int, photographs: Sequence[bytes]) -> None:
        self.contestant = contestant
        self.port = port
        self.requests = [contestant.request(photograph) for photograph in photographs]
        self.first_answer_seconds = 0.0

    def __enter__(self) -> Self:
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")
        began = time.perf_counter()
        self._process = subprocess.Popen(
            self.contestant.command,
            env=self.contestant.environment,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
        try:
            self._await_answer(began + START_SECONDS)
        except BaseException:
            self.__exit__()
            raise
        self.first_answer_seconds = time.perf_counter() - began
        return self

    def __exit__(self, *_: object) -> None:
        processes = self._processes()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()
        self._log.close()

    def answer(self, index: int) -> bytes:
        """The body of the answer to one of the photographs."""
        status, body = ask(self.port, self.requests[index])
        if status != OK:
            raise ConnectionError(f"{self.contestant.name} answers {status}: {body[:200]!r}")
        return body

    def memory_bytes(self) -> int:
        """Of all its processes; what they share is counted once.

        Not the sum of their PSS: that leaves out of a page what others hold of it, and the client
        and the other servers have many of the same libraries in memory.
        """
        held = [process.memory_full_info() for process in self._processes()]
        shared = max(process.rss - process.uss for process in held)
        return int(sum(process.uss for process in held) + shared)

    def _await_answer(self, until: float) -> None:
        while time.perf_counter() < until:
            with contextlib.suppress(OSError):
                if ask(self.port, self.requests[0])[0] == OK:
                    return
            if self._process.poll() is not None:
                break
            time.sleep(_LOOK_SECONDS)
        self._log.seek(0)
        said = self._log.read()[-_SHOWN_CHARACTERS:]
        raise ConnectionError(f"{self.contestant.name} does not answer; it says: {said}")

    def _processes(self) -> list[psutil.Process]:
        try:
            leader = psutil.Process(self._process.pid)
            return [leader, *leader.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
