"""Start a command, sample beside it, wait for its end, gather what was seen."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from prumo.machine.machine import noise_now
from prumo.results.folder import JOURNAL_FILE, LOG_FILE, SAMPLES_FILE
from prumo.results.record import SamplerCost
from prumo.run.journal import Facts, facts_of, read_events
from prumo.run.verdict import Evidence, Judgement, find_anomalies, judge
from prumo.run.worker import Limits, StartedWorker, end_of_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from prumo.run.verdict import Anomaly
    from prumo.run.worker import Launch
    from prumo.run.workloads import Launcher
    from prumo.study import MeasureSettings, Run
    from prumo.supervise.guard import Ending
    from prumo.supervise.interruption import Interruption

END_SECONDS = 10.0


def measure(  # noqa: PLR0913 (each is another thing)
    run: Run,
    launch: Launch,
    workload: Launcher,
    folder: Path,
    settings: MeasureSettings,
    interruption: Interruption,
    tick: Callable[[], None],
) -> Measurement:
    """Carry out a run in its folder and judge it."""
    noise_before = asdict(noise_now())
    observation = observe(launch, folder, settings, interruption, tick)
    events = read_events(folder / JOURNAL_FILE)
    facts = facts_of(events)
    metrics = workload.metrics(events, folder / LOG_FILE)
    swap_bytes = read_column(folder / SAMPLES_FILE, "swap_bytes")
    anomalies = find_anomalies(events, metrics, swap_bytes)
    judgement = judge(
        Evidence(
            ending=observation.ending,
            events=events,
            metrics=metrics,
            speaks_protocol=workload.speaks_protocol,
            anomalies=anomalies,
            expected_images=_expected_images(run, facts) if workload.sees_all_images else None,
            control_group_kills=observation.control_group_kills,
            kernel_kills=observation.kernel_kills,
            last_lines=end_of_log(folder),
            timeout_seconds=settings.timeout_seconds,
            memory_bytes=settings.memory_bytes,
        )
    )
    metrics = {name: value for name, value in metrics.items() if math.isfinite(value)}
    if observation.ending.max_rss_bytes:
        metrics.setdefault("max_rss_bytes", observation.ending.max_rss_bytes)
    return Measurement(
        judgement=replace(judgement, notes=[*judgement.notes, *observation.notes]),
        ending=observation.ending,
        metrics=metrics,
        sampler=observation.sampler,
        noise_before=noise_before,
        anomalies=anomalies,
        facts=facts,
    )


def _expected_images(run: Run, facts: Facts) -> int | None:
    """How many images a training must have seen: all of the data in every epoch."""
    images, epochs = facts.data.get("images"), run.scenario.parameters.get("epochs")
    return images * epochs if isinstance(images, int) and isinstance(epochs, int) else None


@dataclass(frozen=True)
class Measurement:
    """What came of a run."""

    judgement: Judgement
    ending: Ending
    metrics: dict[str, float]
    sampler: SamplerCost | None
    noise_before: dict[str, Any]
    """How busy the machine was before the run began."""
    anomalies: list[Anomaly]
    facts: Facts
    """What the worker said about itself."""


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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


@dataclass(frozen=True)
class Observation:
    """How a command ended, what watching it cost, and who ran out of memory meanwhile."""

    ending: Ending
    sampler: SamplerCost | None
    control_group_kills: int
    kernel_kills: int
    notes: list[str]
    """What about the watching itself is worth knowing."""


def observe(
    launch: Launch,
    folder: Path,
    settings: MeasureSettings,
    interruption: Interruption,
    tick: Callable[[], None],
) -> Observation:
    """Run a command in a run's folder to its end; `tick` is called about once a second."""
    kernel_kills_before = _kernel_kills()
    limits = Limits(
        timeout_seconds=settings.timeout_seconds,
        memory_bytes=settings.memory_bytes,
        stop_seconds=settings.stop_seconds,
        affinity=settings.affinity,
    )
    with StartedWorker(launch, folder, limits) as worker:
        samples = folder / SAMPLES_FILE
        with SamplerProcess(samples, worker.guard_pid, settings.sample_seconds) as sampler:
            end = worker.wait(tick, interruption=interruption)
    return Observation(
        ending=end.ending,
        sampler=sampler.cost,
        control_group_kills=end.control_group_kills,
        kernel_kills=_kernel_kills() - kernel_kills_before,
        notes=_notes(sampler, worker.cap_missing),
    )


def _notes(sampler: SamplerProcess, cap_missing: str) -> list[str]:
    notes = []
    if sampler.cost is None:
        notes.append(f"the sampler did not come to its end: {sampler.failure}")
    elif sampler.cost.lost:
        notes.append(f"{sampler.cost.lost} samples could not be written")
    if cap_missing:
        notes.append(f"the memory cap was only watched, five times a second: {cap_missing}")
    return notes


def _kernel_kills() -> int:
    """How many processes the kernel has ended for lack of memory since it started."""
    try:
        counters = Path("/proc/vmstat").read_text(encoding="ascii")
    except OSError:
        return 0
    for line in counters.splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill":
            return int(value)
    return 0
