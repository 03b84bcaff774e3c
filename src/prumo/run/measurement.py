"""Start a command, sample beside it, wait for its end, gather what was seen."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from prumo.machine.kernel import read_field
from prumo.machine.machine import noise_now
from prumo.results.folder import JOURNAL_FILE, LOG_FILE, SAMPLES_FILE
from prumo.results.record import SamplerCost
from prumo.run.journal import facts_of, read_events
from prumo.run.verdict import Evidence, find_anomalies, judge
from prumo.run.worker import Limits, end_of_log, started_worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo.run.worker import Launch
    from prumo.run.workloads import Launcher
    from prumo.study import MeasureSettings, Run
    from prumo.supervise.interruption import Interruption

END_SECONDS = 10.0
_KERNEL_COUNTERS = Path("/proc/vmstat")


def measure(  # noqa: PLR0913 (each is another thing)
    run: Run,
    launch: Launch,
    workload: Launcher,
    folder: Path,
    settings: MeasureSettings,
    interruption: Interruption,
    tick: Callable[[], None],
) -> dict[str, Any]:
    """Carry out a run in its folder and judge it: what its record says of that.

    `tick` is called about once a second.
    """
    noise_before, killed_before = asdict(noise_now()), read_field(_KERNEL_COUNTERS, "oom_kill")
    limits = Limits(**settings.model_dump(include={limit.name for limit in fields(Limits)}))
    samples = folder / SAMPLES_FILE
    with (
        started_worker(launch, folder, limits) as worker,
        SamplerProcess(samples, worker.process.guard_pid, settings.sample_seconds) as sampler,
    ):
        ending = worker.wait(tick, interruption=interruption)
    kernel_kills = read_field(_KERNEL_COUNTERS, "oom_kill") - killed_before
    events = read_events(folder / JOURNAL_FILE)
    facts = facts_of(events)
    metrics = workload.metrics(events, folder / LOG_FILE)
    anomalies = find_anomalies(events, metrics, read_column(samples, "swap_bytes"))
    images, epochs = facts["data"].get("images"), run.scenario.parameters.get("epochs")
    knows_images = workload.sees_all_images and isinstance(images, int) and isinstance(epochs, int)
    judgement = judge(
        Evidence(
            ending=ending,
            events=events,
            metrics=metrics,
            speaks_protocol=workload.speaks_protocol,
            anomalies=anomalies,
            expected_images=images * epochs if knows_images else None,
            kernel_kills=kernel_kills,
            last_lines=end_of_log(folder),
            timeout_seconds=settings.timeout_seconds,
            memory_bytes=settings.memory_bytes,
        )
    )
    metrics = {name: value for name, value in metrics.items() if math.isfinite(value)}
    if ending.max_rss_bytes:
        metrics.setdefault("max_rss_bytes", ending.max_rss_bytes)
    if ending.wall_seconds:
        # The kernel counts in ticks: a short command may well have used none.
        metrics.setdefault("user_seconds", ending.user_seconds)
        metrics.setdefault("system_seconds", ending.system_seconds)
    cap_missing = "" if settings.memory_bytes is None else worker.group.missing
    return {
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "notes": [*judgement.notes, *_notes(sampler, cap_missing)],
        "anomalies": list(anomalies),
        "wall_seconds": ending.wall_seconds,
        "exit_code": ending.exit_code,
        "signal": ending.signal,
        "metrics": metrics,
        "machine": {"noise_before": noise_before},
        "sampler": sampler.cost,
        "environment": dict(launch.facts),
        "threads": launch.threads,
        **facts,
    }


def read_column(path: Path, column: str) -> list[float]:
    """One column of a run's samples; cells that a sensor left empty are passed over."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            cells = [row.get(column) for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error):
        return []
    numbers = []
    for cell in cells:
        # A sampler that was killed leaves half a number.
        with contextlib.suppress(ValueError):
            numbers.append(float(cell or ""))
    return numbers


class SamplerProcess:
    """Samples a process tree into a file until the `with` block is left."""

    def __init__(self, path: Path, tree_root: int, period_seconds: float) -> None:
        self.cost: SamplerCost | None = None
        self.failure = ""
        """Why there is no account of its cost, when there is none."""
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", "prumo.run.sampler"),
                *(str(path), str(tree_root), str(period_seconds)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The sampler's process number."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            output, complaint = self._process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, complaint = self._process.communicate()
        try:
            self.cost = SamplerCost.model_validate(json.loads(output))
        except ValueError:
            last_words = complaint.decode(errors="replace").strip().rpartition("\n")[2]
            self.failure = last_words or f"exit code {self._process.returncode}"


def _notes(sampler: SamplerProcess, cap_missing: str) -> list[str]:
    notes = []
    if sampler.cost is None:
        notes.append(f"the sampler did not come to its end: {sampler.failure}")
    elif sampler.cost.lost:
        notes.append(f"{sampler.cost.lost} samples could not be written")
    if cap_missing:
        notes.append(f"the memory cap was only watched, five times a second: {cap_missing}")
    return notes
