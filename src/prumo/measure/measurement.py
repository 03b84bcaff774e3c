"""One run measured: started, watched, read and judged."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from prumo.machine.noise import noise_now
from prumo.measure.anomaly import find_anomalies
from prumo.measure.journal import Facts, facts_of, read_events
from prumo.measure.observation import observe
from prumo.measure.sampling import read_column
from prumo.measure.verdict import Evidence, Judgement, judge
from prumo.results.folder import JOURNAL_FILE, LOG_FILE, SAMPLES_FILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prumo.measure.anomaly import Anomaly
    from prumo.measure.guard.order import Ending
    from prumo.measure.interruption import Interruption
    from prumo.measure.launch import Launch
    from prumo.measure.workloads import Workload
    from prumo.results.record import SamplerCost
    from prumo.study import MeasureSettings, Run


LAST_BYTES = 4096


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


def measure(  # noqa: PLR0913 (each is another thing)
    run: Run,
    launch: Launch,
    workload: Workload,
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
            last_lines=_end_of(folder / LOG_FILE),
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


def _end_of(log: Path) -> str:
    """The last lines that a command said."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LAST_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
