"""The end of a child process."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from prumo.supervise.child import end

DEAF = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True)"


def _started(code: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, process_group=0
    )
    assert process.stdout
    process.stdout.readline()
    return process


def test_a_process_that_listens_ends_by_the_signal() -> None:
    with _started("print(flush=True); import time; time.sleep(60)") as process:
        end(process, 30)
    assert process.returncode == -signal.SIGTERM


@pytest.mark.parametrize("group", [False, True])
def test_one_that_does_not_is_killed(group: bool) -> None:
    with _started(f"{DEAF}; import time; time.sleep(60)") as process:
        end(process, 0.1, group=group)
    assert process.returncode == -signal.SIGKILL


def test_one_that_was_asked_already_may_end_by_itself() -> None:
    with _started("print(flush=True)") as process:
        end(process, 30, None)
    assert process.returncode == 0


def test_children_that_outlive_the_process_are_killed_with_its_group() -> None:
    child = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'input()'], "
    code = f"{child}stdin=subprocess.PIPE, pass_fds=()); print(flush=True); import os; os._exit(0)"
    with _started(code) as process:
        end(process, 30, None, group=True)
        # The pipe ends once nobody is left who could write to it.
        assert process.stdout
        assert process.stdout.read() == ""
