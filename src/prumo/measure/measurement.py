"""One run measured: started, watched, read and judged."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from prumo.machine.noise import noise_now
from prumo.measure.journal import JOURNAL_FILE, last_event, read_events
from prumo.measure.observation import LOG_FILE, observe
from prumo.measure.verdict import Evidence, Judgement, judge

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prumo.machine.guard.order import Ending
    from prumo.measure.interruption import Interruption
    from prumo.measure.journal import Event
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
    facts: dict[str, Any] = field(default_factory=dict)
    """What the worker said about itself: versions, build, data, network."""


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
    metrics = workload.metrics(events, folder / LOG_FILE)
    evidence = Evidence(
        ending=observation.ending,
        events=events,
        metrics=metrics,
        speaks_protocol=workload.speaks_protocol,
        expected_images=_expected_images(run, events),
        control_group_kills=observation.control_group_kills,
        kernel_kills=observation.kernel_kills,
        last_lines=_end_of(folder / LOG_FILE),
        timeout_seconds=settings.timeout_seconds,
        memory_bytes=settings.memory_bytes,
    )
    ready = last_event(events, "ready") or {}
    return Measurement(
        judgement=judge(evidence),
        ending=observation.ending,
        metrics={name: value for name, value in metrics.items() if math.isfinite(value)},
        sampler=observation.sampler,
        noise_before=noise_before,
        facts={name: ready.get(name, {}) for name in ("versions", "build", "data", "network")},
    )


def _expected_images(run: Run, events: list[Event]) -> int | None:
    """How many images a training must have seen: all of the data in every epoch."""
    ready = last_event(events, "ready")
    epochs = run.scenario.parameters.get("epochs")
    if ready is None or not isinstance(epochs, int):
        return None
    images = ready.get("data", {}).get("images")
    return images * epochs if isinstance(images, int) else None


def _end_of(log: Path) -> str:
    """The last lines that a command said."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LAST_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
