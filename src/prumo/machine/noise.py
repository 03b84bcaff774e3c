"""How quiet the machine is: what others take, and how steadily a fixed piece of work repeats."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

import psutil

from prumo.machine.kernel import CpuTicks, read_cpu_ticks, read_pressure, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_LOOP_SECONDS = 0.7
_WARMUP_REPEATS = 3
_FEWEST_REPEATS = 10
# About ten milliseconds: long beside the clock, short beside the scheduler's time slices.
_WORK_STEPS = 200_000


@dataclass(frozen=True)
class NoiseNow:
    """What others take from the machine at this moment; None where the system gives no figure."""

    load_average: float | None
    """Tasks that ran or waited to run, averaged over the last minute."""
    steal_percent: float | None
    """Processor time that the hypervisor gave to others, since a given moment or since boot."""
    pressure_cpu_percent: float | None
    pressure_memory_percent: float | None
    pressure_io_percent: float | None
    """Share of the last ten seconds in which some task waited for the resource."""
    swap_used_bytes: int
    governor: str | None


@dataclass(frozen=True)
class Steadiness:
    """How alike the repetitions of one fixed piece of work were."""

    repeats: int
    median_seconds: float
    variation_percent: float
    """Standard deviation in percent of the mean."""
    slowest_to_fastest: float


@dataclass(frozen=True)
class Noise:
    """The machine at this moment and, unless skipped, its steadiness."""

    now: NoiseNow
    steadiness: Steadiness | None


def noise_now(since: CpuTicks | None = None) -> NoiseNow:
    """Look at the noise without adding to it; stolen time counts from `since`, or from boot."""
    return NoiseNow(
        load_average=_load_average(),
        steal_percent=_steal_percent(since, read_cpu_ticks()),
        pressure_cpu_percent=_pressure("cpu"),
        pressure_memory_percent=_pressure("memory"),
        pressure_io_percent=_pressure("io"),
        swap_used_bytes=psutil.swap_memory().used,
        governor=read_text(_GOVERNOR),
    )


def measure_noise() -> Noise:
    """Repeat a fixed piece of work for most of a second and look at the noise meanwhile."""
    # The loop itself adds load and pressure, so only the stolen time is taken from after it.
    before, ticks = noise_now(), read_cpu_ticks()
    spans = repeat_work(_work, time.perf_counter)
    stolen = _steal_percent(ticks, read_cpu_ticks())
    return Noise(replace(before, steal_percent=stolen), steadiness(spans))


def repeat_work(work: Callable[[], object], clock: Callable[[], float]) -> list[float]:
    """The seconds that each repetition took, warm-up left out."""
    for _ in range(_WARMUP_REPEATS):
        work()
    spans: list[float] = []
    began = clock()
    while len(spans) < _FEWEST_REPEATS or clock() - began < _LOOP_SECONDS:
        start = clock()
        work()
        spans.append(clock() - start)
    return spans


def steadiness(spans: Sequence[float]) -> Steadiness:
    """Describe repetitions; at least two.

    >>> steadiness([1.0, 1.0, 2.0, 2.0]).slowest_to_fastest
    2.0
    """
    return Steadiness(
        repeats=len(spans),
        median_seconds=median(spans),
        variation_percent=100.0 * stdev(spans) / fmean(spans),
        slowest_to_fastest=max(spans) / min(spans),
    )


def _work() -> int:
    total = 0
    for number in range(_WORK_STEPS):
        total += number
    return total


def _load_average() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _steal_percent(before: CpuTicks | None, after: CpuTicks | None) -> float | None:
    if after is None:
        return None
    start = before or CpuTicks(0, 0, 0)
    total = after.total - start.total
    return 100.0 * max(0, after.stolen - start.stolen) / total if total > 0 else None


def _pressure(resource: str) -> float | None:
    pressure = read_pressure(resource)
    return pressure.average_percent if pressure else None
