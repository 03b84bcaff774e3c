"""Set-ups that are killed, interrupted, or started twice, in real processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prumo.environments import session
from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
from prumo.environments.store import environments
from support.fakes_environment import GATE
from support.heard_progress import Heard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SET_UP = """
from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
print(ensure(find_framework("pytorch", machine="cpu")).name)
"""
DEADLINE_SECONDS = 120


@pytest.fixture
def folder(cache: Path) -> Path:
    """Where the set-up puts its environment."""
    return cache / "environments" / find_framework("pytorch", machine="cpu").name


def test_a_killed_set_up_leaves_no_process_and_the_next_one_cleans_up(
    folder: Path, tmp_path: Path
) -> None:
    with _other_process(**{GATE: str(tmp_path / "never opened")}) as other:
        _wait_until(lambda: _is_importing(folder))
        other.kill()
    _wait_until(lambda: not _commands_in(folder))
    assert folder.is_dir()
    assert environments() == []
    (folder / "leftover").touch()

    made = ensure(find_framework("pytorch", machine="cpu"))

    assert made.path == folder
    assert made.build == "2.13.0+cpu"
    assert not (folder / "leftover").exists()
    assert environments() == [made]


def test_an_interrupted_set_up_removes_what_it_made(
    folder: Path, heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A shell that starts the tests in the background has them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setenv(GATE, str(tmp_path / "never opened"))
    interrupter = threading.Thread(target=_interrupt_import, args=(folder,))
    interrupter.start()

    with pytest.raises(KeyboardInterrupt):
        ensure(find_framework("pytorch", machine="cpu"), heard)

    interrupter.join()
    assert not folder.exists()
    assert "removing what it made" in heard.said[-1]
    _wait_until(lambda: not _commands_in(folder))


def test_an_interrupt_while_a_command_starts_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(subprocess, "Popen", _InterruptedStart)
    script = f"import time; {str(tmp_path)!r}; time.sleep({DEADLINE_SECONDS})"

    with (tmp_path / "log").open("w+") as log, pytest.raises(KeyboardInterrupt):
        session.Session(log, tmp_path / "log", log.fileno()).run(
            [sys.executable, "-c", script], environment=os.environ, failure="it failed"
        )

    _wait_until(lambda: not _commands_in(tmp_path))


class _InterruptedStart(subprocess.Popen[str]):
    """Ctrl-C at the worst moment: the process is there and nobody holds it yet."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **options)
        os.kill(os.getpid(), signal.SIGINT)


def test_two_set_ups_at_once_make_one_environment(folder: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    waiting = _OpensGate(gate)
    with _other_process(**{GATE: str(gate)}) as other:
        _wait_until(lambda: _is_importing(folder))

        made = ensure(find_framework("pytorch", machine="cpu"), waiting)

        output, _ = other.communicate(timeout=DEADLINE_SECONDS)
    assert output.strip() == made.name
    assert waiting.said == [f"{made.name} is being set up by another process; waiting for it"]
    assert waiting.shown == []
    assert [path.name for path in folder.parent.iterdir()] == [made.name]


class _OpensGate(Heard):
    """Lets the other set-up finish as soon as this one says that it waits."""

    def __init__(self, gate: Path) -> None:
        super().__init__()
        self._gate = gate

    def say(self, text: str) -> None:
        super().say(text)
        self._gate.touch()


@contextlib.contextmanager
def _other_process(**variables: str) -> Iterator[subprocess.Popen[str]]:
    """A set-up in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", SET_UP],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _interrupt_import(folder: Path) -> None:
    """Press Ctrl-C while the import waits at its gate, so that it cannot be too late."""
    _wait_until(lambda: _is_importing(folder))
    os.kill(os.getpid(), signal.SIGINT)


def _is_importing(folder: Path) -> bool:
    return any("import torch" in command for command in _commands_in(folder))


def _commands_in(folder: Path) -> list[str]:
    """The command lines of all processes that have to do with a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [command for command in found if str(folder) in command]


def _wait_until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.02)
