"""Start a command, sample beside it, wait for its end, gather what was seen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.machine.cgroup import memory_group
from prumo.measure.guard.order import Order
from prumo.measure.guard.process import GuardedProcess
from prumo.measure.sampling import SamplerProcess
from prumo.results.folder import LOG_FILE, SAMPLES_FILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo.machine.cgroup import RunGroup
    from prumo.measure.guard.order import Ending
    from prumo.measure.interruption import Interruption
    from prumo.measure.launch import Launch
    from prumo.results.record import SamplerCost
    from prumo.study import MeasureSettings

TICK_SECONDS = 1.0


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
    with memory_group(folder.name, settings.memory_bytes) as group:
        order = Order(
            command=launch.command,
            directory=str(launch.directory),
            environment=dict(launch.environment),
            log=str(folder / LOG_FILE),
            timeout_seconds=settings.timeout_seconds,
            stop_seconds=settings.stop_seconds,
            memory_bytes=None if group.join_files else settings.memory_bytes,
            affinity=list(settings.affinity) if settings.affinity else None,
            join=group.join_files,
        )
        with (
            GuardedProcess(order) as process,
            SamplerProcess(
                folder / SAMPLES_FILE, process.guard_pid, settings.sample_seconds
            ) as sampler,
        ):
            ending = _wait(process, interruption, tick)
        control_group_kills = group.oom_kills()
        notes = _notes(sampler, settings, group)
    return Observation(
        ending=ending,
        sampler=sampler.cost,
        control_group_kills=control_group_kills,
        kernel_kills=_kernel_kills() - kernel_kills_before,
        notes=notes,
    )


def _notes(sampler: SamplerProcess, settings: MeasureSettings, group: RunGroup) -> list[str]:
    notes = []
    if sampler.cost is None:
        notes.append(f"the sampler did not come to its end: {sampler.failure}")
    elif sampler.cost.lost:
        notes.append(f"{sampler.cost.lost} samples could not be written")
    if settings.memory_bytes is not None and group.missing:
        notes.append(f"the memory cap was only watched, five times a second: {group.missing}")
    return notes


def _wait(process: GuardedProcess, interruption: Interruption, tick: Callable[[], None]) -> Ending:
    obeyed = 0
    while (ending := process.wait(TICK_SECONDS, wake=interruption.wake)) is None:
        requests = interruption.take()
        if requests > obeyed:
            (process.stop if obeyed == 0 and requests == 1 else process.kill)()
            obeyed = requests
        tick()
    return ending


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
