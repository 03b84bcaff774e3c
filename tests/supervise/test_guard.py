"""A guarded command ends with everything it started, however Prumo or the command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from prumo.supervise.guard import Ending, GuardedProcess, Order


def ending_of(command: list[str], folder: Path, **limits: Any) -> Ending:
    with GuardedProcess(order(command, folder, **limits)) as process:
        return wait_for(process)


def order(command: list[str], folder: Path, **limits: Any) -> Order:
    return Order(
        command=command,
        directory=str(folder),
        environment=dict(os.environ),
        log=str(folder / "worker.log"),
        **limits,
    )


def wait_for(process: GuardedProcess) -> Ending:
    while (ending := process.wait(1)) is None:
        pass
    return ending


def shell(text: str) -> list[str]:
    return ["sh", "-c", text]


def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def pid_in(path: Path) -> int:
    for _ in range(500):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{path} was never written")


def gone(pid: int) -> bool:
    for _ in range(500):
        if not is_running(pid):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_process_that_cleans_up_is_given_the_time_for_it(
    tmp_path: Path, is_stopped: bool
) -> None:
    cleaner = "trap '' TERM; echo $$ > cleaner; read -r _; sleep 0.2; echo done > cleaned"
    script = (
        "import os, subprocess, sys, time; "
        "subprocess.Popen(['sh', '-c', sys.argv[1]], stdin=subprocess.PIPE, "
        "env={**os.environ, 'PRUMO_CLEANUP': '1'}); time.sleep(1000)"
    )
    with GuardedProcess(order([sys.executable, "-c", script, cleaner], tmp_path)) as process:
        pid = pid_in(tmp_path / "cleaner")
        if is_stopped:
            process.stop()
            ending = wait_for(process)
            assert (ending.cause, ending.left_behind) == ("stopped", 0)
    assert gone(pid)
    assert (tmp_path / "cleaned").exists()


def test_a_guard_can_wait_for_its_order(tmp_path: Path) -> None:
    with GuardedProcess() as process:
        assert process.wait(0) is None
        process.begin(order(shell("exit 3"), tmp_path))
        assert wait_for(process).exit_code == 3


def test_a_guard_without_an_order_ends_with_its_block() -> None:
    with GuardedProcess() as process:
        pass
    assert gone(process.guard_pid)


def test_exit_code_and_output_are_kept(tmp_path: Path) -> None:
    ending = ending_of(shell("echo out; echo err >&2; exit 3"), tmp_path)
    assert (ending.exit_code, ending.signal, ending.cause) == (3, None, None)
    assert (tmp_path / "worker.log").read_text().split() == ["out", "err"]


def test_a_fatal_signal_is_told(tmp_path: Path) -> None:
    assert ending_of(shell("kill -SEGV $$"), tmp_path).signal == signal.SIGSEGV


@pytest.mark.parametrize(
    ("command", "words"),
    [(["no-such-program"], "command not found"), (["/etc/passwd"], "not an executable")],
)
def test_what_cannot_be_started_is_told(tmp_path: Path, command: list[str], words: str) -> None:
    assert words in ending_of(command, tmp_path).failure


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    guarded = Order(["true"], str(tmp_path / "absent"), {}, str(tmp_path / "log"))
    with GuardedProcess(guarded) as process:
        assert "no such folder" in wait_for(process).failure


def test_a_worker_that_ignores_sigterm_is_killed_after_its_timeout(tmp_path: Path) -> None:
    ending = ending_of(
        shell("trap '' TERM; while true; do sleep 0.05; done"),
        tmp_path,
        timeout_seconds=0.2,
        stop_seconds=0.2,
    )
    assert (ending.cause, ending.signal) == ("timeout", signal.SIGKILL)


def test_a_worker_that_ends_on_sigterm_may_say_its_last_words(tmp_path: Path) -> None:
    ending = ending_of(
        shell("trap 'echo bye; exit 7' TERM; while true; do sleep 0.05; done"),
        tmp_path,
        timeout_seconds=0.3,
    )
    assert (ending.cause, ending.exit_code) == ("timeout", 7)
    assert "bye" in (tmp_path / "worker.log").read_text()


def test_a_worker_that_forks_and_dies_leaves_nothing_behind(tmp_path: Path) -> None:
    daemon = (
        "setsid sh -c 'echo $$ > daemon.pid; sleep 600' & while ! [ -s daemon.pid ]; do :; done"
    )
    ending = ending_of(shell(daemon), tmp_path)
    assert ending.exit_code == 0
    assert ending.left_behind >= 1
    assert not is_running(pid_in(tmp_path / "daemon.pid"))


def test_a_flood_of_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    ending = ending_of(
        shell("echo first; yes | head -c 20000000; echo last"), tmp_path, log_bytes=100_000
    )
    text = (tmp_path / "worker.log").read_text()
    assert ending.exit_code == 0
    assert text.startswith("first\n")
    assert text.endswith("last\n")
    assert len(text) < 2_000_000
    assert ending.log_omitted_bytes > 10_000_000


def test_a_watched_memory_cap_ends_the_run(tmp_path: Path) -> None:
    hungry = "held = bytearray(400 << 20); import time; time.sleep(600)"
    ending = ending_of([sys.executable, "-c", hungry], tmp_path, memory_bytes=100 << 20)
    assert ending.cause == "memory"


def test_affinity_binds_the_command(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    show = "import os; print(sorted(os.sched_getaffinity(0)))"
    ending_of([sys.executable, "-c", show], tmp_path, affinity=[cpu])
    assert (tmp_path / "worker.log").read_text().strip() == f"[{cpu}]"


def test_stop_and_kill_end_the_command(tmp_path: Path) -> None:
    with GuardedProcess(order(shell("trap '' TERM; sleep 600; sleep 600"), tmp_path)) as process:
        process.stop()
        process.kill()
        assert wait_for(process).cause == "stopped"


def test_nothing_outlives_a_controller_that_is_killed(tmp_path: Path) -> None:
    controller = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parents[2] / "src")!r})
from prumo.supervise.guard import Order
from prumo.supervise.guard import GuardedProcess
import os
words = ["sh", "-c", "echo $$ > worker.pid; setsid sleep 600 & echo $! > daemon.pid; sleep 600"]
with GuardedProcess(Order(words, {str(tmp_path)!r}, dict(os.environ), "log")) as process:
    process.wait(600)
"""
    running = subprocess.Popen([sys.executable, "-c", controller], cwd=tmp_path)
    pids = [pid_in(tmp_path / "worker.pid"), pid_in(tmp_path / "daemon.pid")]
    running.kill()
    running.wait()
    assert all(gone(pid) for pid in pids)


def test_a_guard_that_is_killed_takes_its_command_with_it(tmp_path: Path) -> None:
    command = shell("echo $$ > worker.pid; sleep 600")
    with GuardedProcess(order(command, tmp_path)) as process:
        pid = pid_in(tmp_path / "worker.pid")
        os.kill(process.guard_pid, signal.SIGKILL)
        assert "guard" in wait_for(process).failure
    assert gone(pid)


def test_a_log_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    guarded = Order(["true"], str(tmp_path), {}, str(tmp_path / "absent" / "log"))
    with GuardedProcess(guarded) as process:
        assert "cannot write" in wait_for(process).failure


def test_words_that_no_program_can_be_given_are_told(tmp_path: Path) -> None:
    assert "could not start" in ending_of(["echo", "a\0b"], tmp_path).failure


def test_memory_and_time_are_those_of_the_command_alone(tmp_path: Path) -> None:
    guard_bytes = 10 * 1024**2
    small = ending_of(["sleep", "0.2"], tmp_path)
    assert small.wall_seconds >= 0.2
    assert 0 < small.max_rss_bytes < guard_bytes
    assert small.user_seconds + small.system_seconds < small.wall_seconds / 2

    program = "held = bytearray(64 * 1024**2)\nfor _ in range(3_000_000): pass"
    large = ending_of([sys.executable, "-S", "-c", program], tmp_path)
    assert 64 * 1024**2 < large.max_rss_bytes < 128 * 1024**2
    assert large.user_seconds > small.user_seconds


LARGE_STARTER = """
import sys
from prumo.supervise.guard import GuardedProcess, Order
held = bytearray(200 * 1024**2)
folder, program = sys.argv[1:]
order = Order([sys.executable, "-S", "-c", program], folder, {}, folder + "/worker.log")
with GuardedProcess(order) as process:
    while (ending := process.wait(1)) is None:
        pass
print(ending.max_rss_bytes)
"""
LATE_PEAK = """
import os, resource, time
time.sleep(1)
held = bytearray(64 * 1024**2)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
os._exit(0)
"""


def test_memory_is_not_that_of_the_process_that_started_the_guard(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", LARGE_STARTER, str(tmp_path), LATE_PEAK],
        capture_output=True,
        check=True,
        text=True,
    )
    counted_bytes = 1024 * int((tmp_path / "worker.log").read_text())

    # Read now and then, a peak at the very end would be missed.
    assert counted_bytes > 64 * 1024**2
    assert int(told.stdout) == pytest.approx(counted_bytes, abs=1024**2)
