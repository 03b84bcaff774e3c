"""Nothing that was started outlives the one who started it, however that one ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from prumo.backoff import Backoff
from prumo.machine.kernel import has_ended
from prumo.supervise.parent_death import dies_with_parent

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports it")

SCRIPT = [sys.executable, "-P", "-m", "prumo.supervise.parent_death"]


def test_a_command_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent = _parent_of("dies_with_parent(['sleep', '60'])", tmp_path)
    child = _pid(tmp_path / "pid")

    parent.kill()
    parent.wait()

    assert _ends(child)


def test_the_children_of_a_command_end_with_it_when_it_has_a_group(tmp_path: Path) -> None:
    command = ["sh", "-c", f"sleep 60 & echo $! > {tmp_path}/grandchild; wait"]
    parent = _parent_of(f"dies_with_parent({command!r}, group=True)", tmp_path)
    grandchild = _pid(tmp_path / "grandchild")

    parent.kill()
    parent.wait()

    assert _ends(grandchild)
    assert _ends(_pid(tmp_path / "pid"))


def test_a_command_whose_parent_has_ended_already_does_not_start(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    words = [*SCRIPT, "--parent", str(gone.pid), "touch", str(tmp_path / "started")]

    code = subprocess.run(words, check=False).returncode

    assert code == -signal.SIGTERM
    assert not (tmp_path / "started").exists()


def test_the_script_becomes_the_command() -> None:
    process = subprocess.Popen(
        [*SCRIPT, "sh", "-c", "echo $$; exit 3"], stdout=subprocess.PIPE, text=True
    )
    said, _ = process.communicate()

    assert int(said) == process.pid
    assert process.returncode == 3


def test_a_command_in_a_group_gives_its_exit_code() -> None:
    words = dies_with_parent(["sh", "-c", "exit 3"], group=True)

    assert subprocess.run(words, check=False, process_group=0).returncode == 3


@pytest.mark.parametrize(("words", "code"), [([], 2), (["--gruop", "true"], 2), (["no-such"], 127)])
def test_what_cannot_be_started_is_said_in_one_line(words: list[str], code: int) -> None:
    ended = subprocess.run([*SCRIPT, *words], check=False, capture_output=True, text=True)

    assert ended.returncode == code
    assert ended.stderr.count("\n") == 1


def test_pauses_grow_up_to_the_limit_and_start_anew_after_a_success() -> None:
    backoff = Backoff(first_seconds=1.0, longest_seconds=5.0)

    assert [backoff.delay() for _ in range(4)] == [1.0, 2.0, 4.0, 5.0]
    backoff.reset()
    assert backoff.delay() == 1.0


def _parent_of(command: str, folder: Path) -> subprocess.Popen[bytes]:
    """A process that starts the command, writes its number down, and waits."""
    code = f"""
import subprocess
from prumo.supervise.parent_death import dies_with_parent
child = subprocess.Popen({command}, process_group=0)
open({str(folder / "pid")!r}, "w").write(f"{{child.pid}}\\n")
child.wait()
"""
    return subprocess.Popen([sys.executable, "-c", code])


def _pid(path: Path) -> int:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return int(text)
        time.sleep(0.02)
    raise AssertionError(f"{path} was not written")


def _ends(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if has_ended(pid):
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False
