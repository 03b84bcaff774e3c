"""The sensors: processor, memory, pressure, energy and GPUs of the machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from prumo.machine.accelerators import Nvml, NvmlError, NvmlUnsupportedError
from prumo.machine.kernel import CpuTicks, parse_cpu_ticks, parse_pressure

UNKNOWN = float("nan")
"""A figure that cannot be given now; it becomes an empty cell."""

SHORTEST_SECONDS = 0.05
"""Five of the kernel's clock ticks: over less time a rate would be mostly rounding."""


class Sensor(NamedTuple):
    """Something that can be read again and again, always into the same columns.

    A sensor is opened by a function that returns None where its hardware or its counters are
    absent. A read that fails raises OSError or ValueError; the sampler leaves its cells empty.
    """

    columns: tuple[str, ...]
    """The names of the figures, fixed for the sensor's life."""
    read: Callable[[], tuple[float, ...]]
    """One figure per column; UNKNOWN where it cannot be read."""


class Rate:
    """How fast a counter grows per second between one look and the next."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last: tuple[float, float] | None = None

    def per_second(self, count: float) -> float:
        """The growth since the last look, never negative; UNKNOWN where no time lies between."""
        seconds = self._clock()
        if self._last is None:
            self._last = seconds, count
            return UNKNOWN
        last_seconds, last_count = self._last
        elapsed = seconds - last_seconds
        if elapsed < SHORTEST_SECONDS:
            return UNKNOWN
        self._last = seconds, count
        return max(0.0, count - last_count) / elapsed


_MOST_BYTES = 4096


def kernel_file(path: str) -> Callable[[], str]:
    """Open a short text file of the kernel, such as /proc/meminfo: what reads what it says now."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return lambda: os.pread(descriptor, _MOST_BYTES, 0).decode("ascii", "replace")


def _kernel_file_if_any(path: str) -> Callable[[], str] | None:
    """None where the file is absent, forbidden or switched off."""
    try:
        text = kernel_file(path)
        text()
    except OSError:
        return None
    return text


_MEMORY = ("memory_percent", "swap_bytes")


def open_memory(meminfo: str = "/proc/meminfo") -> Sensor:
    """Memory in use, by the kernel's own estimate of what is available, and bytes of swap."""
    text = _kernel_file_if_any(meminfo)
    if text is None:
        return other_memory()

    def read() -> tuple[float, ...]:
        pairs = (line.split(":", 1) for line in text().splitlines() if ":" in line)
        kibibytes = {key: int(value.split()[0]) for key, value in pairs}
        total = kibibytes["MemTotal"]
        used_percent = 100.0 * (total - kibibytes["MemAvailable"]) / total
        return used_percent, 1024.0 * (kibibytes["SwapTotal"] - kibibytes["SwapFree"])

    return Sensor(_MEMORY, read)


def other_memory() -> Sensor:
    """The same where there is no /proc/meminfo."""
    import psutil  # noqa: PLC0415 (three megabytes that Linux does not need)

    def read() -> tuple[float, ...]:
        memory = psutil.virtual_memory()
        used_percent = 100.0 * (memory.total - memory.available) / memory.total
        return used_percent, float(psutil.swap_memory().used)

    return Sensor(_MEMORY, read)


_RESOURCES = ("cpu", "memory", "io")


def open_pressure(clock: Callable[[], float], folder: str = "/proc/pressure") -> Sensor | None:
    """Pressure stall information, over the time since the last look; None where there is none."""
    files = [_kernel_file_if_any(f"{folder}/{resource}") for resource in _RESOURCES]
    present = [(text, Rate(clock)) for text in files if text is not None]
    if len(present) < len(_RESOURCES):
        return None

    def read() -> tuple[float, ...]:
        return tuple(
            100.0 * rate.per_second(parse_pressure(text()).stalled_seconds)
            for text, rate in present
        )

    return Sensor(tuple(f"pressure_{resource}_percent" for resource in _RESOURCES), read)


# Over fewer ticks a share would be mostly rounding.
_FEWEST_TICKS = 5


def open_processor(clock: Callable[[], float], stat: str = "/proc/stat") -> Sensor:
    """Shares of all processors' time since the last look: percent busy and percent stolen."""
    text = _kernel_file_if_any(stat)
    if text is None:
        return other_processor(clock)
    last: CpuTicks | None = None

    def read() -> tuple[float, ...]:
        nonlocal last
        ticks, before = parse_cpu_ticks(text()), last
        total = ticks.total - before.total if before else 0
        if before is None or total >= _FEWEST_TICKS:
            last = ticks
        if before is None or total < _FEWEST_TICKS:
            return UNKNOWN, UNKNOWN
        parts = ticks.busy - before.busy, ticks.stolen - before.stolen
        # The kernel's idle time may step back, which would make the rest too large.
        return tuple(min(100.0, max(0.0, 100.0 * part / total)) for part in parts)

    return Sensor(("cpu_percent", "steal_percent"), read)


def other_processor(clock: Callable[[], float]) -> Sensor:
    """The same without stolen time, where there is no /proc/stat."""
    import psutil  # noqa: PLC0415 (three megabytes that Linux does not need)

    processors = psutil.cpu_count() or 1
    rate = Rate(clock)

    def read() -> tuple[float, ...]:
        times = psutil.cpu_times()
        busy_seconds = sum(times) - times.idle
        return (min(100.0, 100.0 * rate.per_second(busy_seconds) / processors),)

    return Sensor(("cpu_percent",), read)


def open_energy(folder: Path = Path("/sys/class/powercap")) -> Sensor | None:
    """Joules of all processor packages since now; None without counters or the right to read."""
    try:
        packages = [
            _package_joules(zone)
            for zone in sorted(folder.glob("intel-rapl:*"))
            # Others are parts of a package or, like `psys`, hold packages: they would count twice.
            if (zone / "name").read_text().startswith("package")
        ]
    except (OSError, ValueError):
        return None
    if not packages:
        return None
    return Sensor(("energy_joules",), lambda: (sum(joules() for joules in packages),))


def _package_joules(zone: Path) -> Callable[[], float]:
    """Of one package, whose counter starts again at zero when it is full."""
    text = kernel_file(str(zone / "energy_uj"))
    range_microjoules = int((zone / "max_energy_range_uj").read_text())
    last, total = int(text()), 0

    def joules() -> float:
        nonlocal last, total
        now = int(text())
        total += now - last if now >= last else now - last + range_microjoules
        last = now
        return total / 1e6

    return joules


def open_gpus(module: ModuleType | None = None) -> Sensor | None:
    """All figures of all GPUs, None without any; `module` stands in for pynvml without a GPU.

    A GPU that stops answering empties its own cells only.
    """
    try:
        nvml = Nvml(module)
        count = nvml.device_count()
    except NvmlError:
        return None
    gauges = {
        f"gpu{index}_{name}": partial(ask, index)
        for index in range(count)
        for name, ask in (
            ("percent", nvml.busy_percent),
            ("memory_percent", nvml.memory_percent),
            ("power_watts", nvml.power_watts),
        )
        if _is_supported(ask, index)
    }
    if not gauges:
        return None
    return Sensor(tuple(gauges), lambda: tuple(map(_answer, gauges.values())))


def _is_supported(ask: Callable[[int], float], index: int) -> bool:
    try:
        ask(index)
    except NvmlUnsupportedError:
        return False
    except NvmlError:
        # It may answer later, and columns cannot be added then.
        return True
    return True


def _answer(ask: Callable[[], float]) -> float:
    try:
        return ask()
    except NvmlError:
        return UNKNOWN
