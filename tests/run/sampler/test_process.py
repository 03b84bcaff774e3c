"""The sampler as the controller starts it: a real process beside real processes."""

from __future__ import annotations

import csv
import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.supervisor import Supervisor

MIB = 1024**2
PROMISED = ("time", "seconds", "cpu_percent", "tree_cpu_percent", "tree_rss_bytes")


def start(
    path: Path, root: int, period: str = "0.1", before: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "prumo.run.sampler", str(path), str(root), period],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,  # noqa: PLW1509 (no threads here)
    )


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def rows_in(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="ascii") as file:
        return list(csv.DictReader(file))


def test_the_end_of_its_input_ends_it_with_a_last_row_and_a_report(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    path = tmp_path / "samples.csv"
    sampler = start(path, supervisor.pid)
    until(lambda: len(rows_in(path)) >= 3)
    output, errors = sampler.communicate()
    report = json.loads(output)
    rows = rows_in(path)
    assert errors == ""
    assert sampler.returncode == 0
    assert report["samples"] == len(rows)
    assert report["period_seconds"] == 0.1
    assert report["lost"] == 0
    assert 0 <= report["cpu_seconds"] <= report["total_cpu_seconds"]
    assert set(PROMISED) <= set(rows[0])
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    assert rows[0]["tree_cpu_percent"] == ""
    assert rows[1]["tree_rss_bytes"] == ""


def test_a_run_shorter_than_a_period_has_its_processor_time_in_the_last_row(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    path = tmp_path / "samples.csv"
    sampler = start(path, supervisor.pid, period="3600")
    until(lambda: len(rows_in(path)) == 1)
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    supervisor.do(f"subprocess.run([sys.executable, '-c', {burn!r}])")
    supervisor.end_unreaped()
    sampler.communicate()
    first, last = rows_in(path)
    assert first["tree_cpu_percent"] == ""
    assert float(last["tree_cpu_percent"]) > 0


def test_a_termination_signal_ends_it_as_well(tmp_path: Path, supervisor: Supervisor) -> None:
    path = tmp_path / "samples.csv"
    sampler = start(path, supervisor.pid, period="3600")
    until(lambda: len(rows_in(path)) == 1)
    sampler.send_signal(signal.SIGTERM)
    assert sampler.wait(30) == 0
    assert sampler.stdout is not None
    assert json.loads(sampler.stdout.read())["samples"] == 2
    sampler.communicate()


def test_an_interrupt_from_the_keyboard_is_for_the_controller(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    path = tmp_path / "samples.csv"
    sampler = start(path, supervisor.pid)
    until(lambda: len(rows_in(path)) >= 1)
    sampler.send_signal(signal.SIGINT)
    seen = len(rows_in(path))
    until(lambda: len(rows_in(path)) > seen + 1)
    _, errors = sampler.communicate()
    assert (sampler.returncode, errors) == (0, "")


def test_a_killed_controller_takes_the_sampler_with_it(tmp_path: Path) -> None:
    path, errors = tmp_path / "samples.csv", tmp_path / "errors"
    code = (
        "import subprocess, sys, os, time\n"
        f"p = subprocess.Popen([sys.executable, '-m', 'prumo.run.sampler', {str(path)!r}, "
        "str(os.getpid()), '0.1'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, "
        f"stderr=open({str(errors)!r}, 'w'))\n"
        "print(p.pid, flush=True); time.sleep(600)"
    )
    controller = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert controller.stdout is not None
    sampler = int(controller.stdout.readline())
    until(lambda: len(rows_in(path)) >= 1)
    controller.kill()
    controller.communicate()
    until(lambda: has_ended(sampler))
    assert errors.read_text() == ""


def test_a_file_that_takes_no_whole_line_costs_rows_and_not_the_sampler(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    path = tmp_path / "samples.csv"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    sampler = start(path, supervisor.pid, before=limit)
    output, errors = sampler.communicate()
    report = json.loads(output)
    assert (sampler.returncode, errors) == (0, "")
    assert path.read_text() == ""
    assert report["lost"] == report["samples"] == 2


def test_its_memory_is_its_own_and_not_its_parents(tmp_path: Path, supervisor: Supervisor) -> None:
    held = b"x" * (200 * MIB)
    sampler = start(tmp_path / "samples.csv", supervisor.pid)
    output, _ = sampler.communicate()
    assert len(held) == 200 * MIB
    assert 4 * MIB < json.loads(output)["memory_bytes"] < 100 * MIB


def test_a_folder_that_is_not_there_is_told_in_a_line(tmp_path: Path) -> None:
    sampler = start(tmp_path / "nowhere" / "samples.csv", 1)
    output, errors = sampler.communicate()
    assert (sampler.returncode, output) == (2, "")
    assert errors.startswith("sampler: cannot write")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["samples.csv", "one", "1"]])
def test_wrong_arguments_are_answered_with_the_usage(arguments: list[str]) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "prumo.run.sampler", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 2
    assert answer.stderr.startswith("usage: ")


def test_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, prumo.run.sampler.__main__ as m; m.open_sensors(1, lambda: 0.0); "
        "print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    )
    heavy = {"polars", "pydantic", "rich", "scipy", "numpy", "click"}
    assert heavy.isdisjoint(loaded.stdout.split())


def has_ended(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"
