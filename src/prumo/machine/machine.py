"""The machine as a whole: every fact a measurement should be read with, and how quiet it is."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median, stdev

import psutil

from prumo.machine.accelerators import Gpus, read_gpus
from prumo.machine.cgroup import MemoryLimit, memory_limit
from prumo.machine.cpu import Cpu, read_cpu
from prumo.machine.kernel import CpuTicks, read_cpu_ticks, read_pressure, read_text

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
    ticks, start = read_cpu_ticks(), since or CpuTicks(0, 0, 0)
    total, stolen = (ticks.total - start.total, ticks.stolen - start.stolen) if ticks else (0, 0)
    return NoiseNow(
        load_average=_load_average(),
        steal_percent=100.0 * max(0, stolen) / total if total > 0 else None,
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
    stolen = noise_now(ticks).steal_percent
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


def _pressure(resource: str) -> float | None:
    pressure = read_pressure(resource)
    return pressure.average_percent if pressure else None


READINGS = 200


def clock_step_seconds(clock: Callable[[], int] = time.perf_counter_ns) -> float:
    """The shortest span that the clock can measure, the reading itself included.

    >>> ticks = iter(range(0, 16_000_000 * 400, 16_000_000))
    >>> clock_step_seconds(lambda: next(ticks))
    0.016
    """
    steps: list[int] = []
    before = clock()
    while len(steps) < READINGS:
        # A coarse clock stands still for many readings, and then moves by its step.
        if (now := clock()) != before:
            steps.append(now - before)
            before = now
    return min(steps) / 1e9


_CONTAINER_MARKS = {"docker": Path("/.dockerenv"), "podman": Path("/run/.containerenv")}
_PRODUCT = Path("/sys/class/dmi/id")


@dataclass(frozen=True)
class Host:
    """Name, system and surroundings."""

    name: str
    system: str
    kernel: str
    python: str
    product: str | None
    """Maker and model from the firmware; a cloud puts its instance type here."""
    container: str | None
    clock_step_seconds: float
    """The shortest span that its clock can measure."""


def read_host() -> Host:
    """Look at the host."""
    words = [read_text(_PRODUCT / name) for name in ("sys_vendor", "product_name")]
    return Host(
        name=platform.node(),
        system=_system(),
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        product=" ".join(filter(None, words)) or None,
        container=_container(),
        clock_step_seconds=clock_step_seconds(),
    )


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform(terse=True)


def _container() -> str | None:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    marked = (name for name, mark in _CONTAINER_MARKS.items() if mark.exists())
    # systemd's convention: whoever starts a container names itself in this variable, so spelt.
    return next(marked, os.environ.get("container") or None)  # noqa: SIM112


@dataclass(frozen=True)
class Disk:
    """The file system that holds a path."""

    path: str
    filesystem: str | None
    mount: str | None
    size_bytes: int
    free_bytes: int
    """What an ordinary user may still write."""


def read_disk(path: Path) -> Disk:
    """Look at the disk under a path; for one that does not exist yet, at its nearest parent."""
    place = path.resolve()
    while not place.exists():
        place = place.parent
    usage = psutil.disk_usage(str(place))
    mounts = [
        (part.mountpoint, part.fstype)
        for part in psutil.disk_partitions(all=True)
        if place.is_relative_to(Path(part.mountpoint))
    ]
    # Of two mounts on one point the later hides the earlier, so ties go to the last.
    none: tuple[str | None, str | None] = (None, None)
    mount, filesystem = max(reversed(mounts), key=lambda mount: len(mount[0]), default=none)
    return Disk(str(place), filesystem, mount, usage.total, usage.free)


@dataclass(frozen=True)
class Memory:
    """Memory in bytes."""

    total_bytes: int
    limit_bytes: int | None
    """The tightest limit of the control groups; None when the whole machine is allowed."""
    usable_bytes: int
    """The total or the limit, whichever is less."""
    available_bytes: int
    """What can be had now without swapping and within the limit."""
    swap_total_bytes: int
    swap_used_bytes: int


def read_memory() -> Memory:
    """Look at the memory."""
    machine, swap = psutil.virtual_memory(), psutil.swap_memory()
    return within(memory_limit(), machine.total, machine.available, swap.total, swap.used)


def within(
    limit: MemoryLimit | None, total: int, available: int, swap_total: int, swap_used: int
) -> Memory:
    """The machine's memory under a limit; one above the machine's memory is none."""
    if limit is None or limit.limit_bytes >= total:
        return Memory(total, None, total, available, swap_total, swap_used)
    usable, available = limit.limit_bytes, min(available, limit.free_bytes)
    return Memory(total, usable, usable, available, swap_total, swap_used)


@dataclass(frozen=True)
class Machine:
    """Hardware, limits, surroundings and noise of one machine at one moment."""

    host: Host
    cpu: Cpu
    memory: Memory
    gpus: Gpus
    disk: Disk
    noise: Noise


def machine_facts(path: Path | None = None) -> Machine:
    """Look at the machine without disturbing it: no loop, some milliseconds."""
    return Machine(
        host=read_host(),
        cpu=read_cpu(),
        memory=read_memory(),
        gpus=read_gpus(),
        disk=read_disk(path or Path.cwd()),
        noise=Noise(noise_now(), steadiness=None),
    )


def inspect_machine(path: Path | None = None) -> Machine:
    """Look at the machine and repeat a fixed piece of work to see how steady it is."""
    return replace(machine_facts(path), noise=measure_noise())
