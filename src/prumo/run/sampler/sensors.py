"""The sensors: processor, memory, pressure, energy and GPUs of the machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, Protocol

from prumo.machine.accelerators import Nvml, NvmlError, NvmlUnsupportedError, open_nvml
from prumo.machine.kernel import CpuTicks, parse_cpu_ticks, parse_pressure

UNKNOWN = float("nan")
"""A figure that cannot be given now; it becomes an empty cell."""

SHORTEST_SECONDS = 0.05
"""Five of the kernel's clock ticks: over less time a rate would be mostly rounding."""


class Sensor(Protocol):
    """Something that can be read again and again, always into the same columns.

    A sensor is opened by a function that returns None where its hardware or its counters are
    absent. A read that fails raises OSError or ValueError; the sampler leaves its cells empty.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the figures, fixed for the sensor's life."""

    def read(self) -> tuple[float, ...]:
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


class KernelFile:
    """A short text file of the kernel, such as /proc/meminfo."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> str:
        """What the kernel says now."""
        return os.pread(self._descriptor, _MOST_BYTES, 0).decode("ascii", "replace")


def open_kernel_file(path: str) -> KernelFile | None:
    """Open a kernel file; None where it is absent, forbidden or switched off."""
    try:
        file = KernelFile(path)
        file.read()
    except OSError:
        return None
    return file


_COLUMNS = ("memory_percent", "swap_bytes")


class LinuxMemory:
    """Memory in use, by the kernel's own estimate of what is available."""

    columns = _COLUMNS

    def __init__(self, meminfo: KernelFile) -> None:
        self._meminfo = meminfo

    def read(self) -> tuple[float, ...]:
        """Percent of the memory and bytes of swap."""
        kibibytes = _parse(self._meminfo.read())
        total = kibibytes["MemTotal"]
        used_percent = 100.0 * (total - kibibytes["MemAvailable"]) / total
        return used_percent, 1024.0 * (kibibytes["SwapTotal"] - kibibytes["SwapFree"])


class OtherMemory:
    """The same where there is no /proc/meminfo."""

    columns = _COLUMNS

    def __init__(self) -> None:
        import psutil  # noqa: PLC0415 (three megabytes that Linux does not need)

        self._memory = psutil.virtual_memory
        self._swap = psutil.swap_memory

    def read(self) -> tuple[float, ...]:
        """Percent of the memory and bytes of swap."""
        memory = self._memory()
        used_percent = 100.0 * (memory.total - memory.available) / memory.total
        return used_percent, float(self._swap().used)


def open_memory(meminfo: str = "/proc/meminfo") -> Sensor:
    """Open the memory's figures, which every system has."""
    file = open_kernel_file(meminfo)
    return LinuxMemory(file) if file else OtherMemory()


def _parse(text: str) -> dict[str, int]:
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {key: int(value.split()[0]) for key, value in pairs}


_RESOURCES = ("cpu", "memory", "io")


class Pressure:
    """Pressure stall information, over exactly the time since the last look."""

    columns = tuple(f"pressure_{resource}_percent" for resource in _RESOURCES)

    def __init__(self, files: list[KernelFile], clock: Callable[[], float]) -> None:
        self._files = [(file, Rate(clock)) for file in files]

    def read(self) -> tuple[float, ...]:
        """One percentage per resource."""
        return tuple(
            100.0 * rate.per_second(parse_pressure(file.read()).stalled_seconds)
            for file, rate in self._files
        )


def open_pressure(clock: Callable[[], float], folder: str = "/proc/pressure") -> Sensor | None:
    """Open the kernel's pressure files; None where it keeps none."""
    files = [open_kernel_file(f"{folder}/{resource}") for resource in _RESOURCES]
    present = [file for file in files if file is not None]
    return Pressure(present, clock) if len(present) == len(_RESOURCES) else None


# Over fewer ticks a share would be mostly rounding.
_FEWEST_TICKS = 5


class LinuxProcessor:
    """Shares of all processors' time since the last look."""

    columns = ("cpu_percent", "steal_percent")

    def __init__(self, stat: KernelFile) -> None:
        self._stat = stat
        self._last: CpuTicks | None = None

    def read(self) -> tuple[float, ...]:
        """Percent busy and percent stolen."""
        ticks = parse_cpu_ticks(self._stat.read())
        if self._last is None:
            self._last = ticks
            return UNKNOWN, UNKNOWN
        last, total = self._last, ticks.total - self._last.total
        if total < _FEWEST_TICKS:
            return UNKNOWN, UNKNOWN
        self._last = ticks
        return _percent(ticks.busy - last.busy, total), _percent(ticks.stolen - last.stolen, total)


class OtherProcessor:
    """The same without stolen time, where there is no /proc/stat."""

    columns = ("cpu_percent",)

    def __init__(self, clock: Callable[[], float]) -> None:
        import psutil  # noqa: PLC0415 (three megabytes that Linux does not need)

        self._times = psutil.cpu_times
        self._processors = psutil.cpu_count() or 1
        self._rate = Rate(clock)

    def read(self) -> tuple[float, ...]:
        """Percent busy."""
        times = self._times()
        busy_seconds = sum(times) - times.idle
        return (min(100.0, 100.0 * self._rate.per_second(busy_seconds) / self._processors),)


def open_processor(clock: Callable[[], float], stat: str = "/proc/stat") -> Sensor:
    """Open the processor's counters, which every system has."""
    file = open_kernel_file(stat)
    return LinuxProcessor(file) if file else OtherProcessor(clock)


def _percent(part: int, whole: int) -> float:
    # The kernel's idle time may step back, which would make the rest too large.
    return min(100.0, max(0.0, 100.0 * part / whole))


class Energy:
    """Joules of all packages since the sensor was opened."""

    columns = ("energy_joules",)

    def __init__(self, packages: list[_Package]) -> None:
        self._packages = packages

    def read(self) -> tuple[float, ...]:
        """The sum over the packages."""
        return (sum(package.joules() for package in self._packages),)


def open_energy(folder: Path = Path("/sys/class/powercap")) -> Sensor | None:
    """Open the energy counters; None where there are none or only root may read them."""
    try:
        packages = [_Package(zone) for zone in sorted(folder.glob("intel-rapl:*")) if _whole(zone)]
    except (OSError, ValueError):
        return None
    return Energy(packages) if packages else None


class _Package:
    """One processor package, whose counter starts again at zero when it is full."""

    def __init__(self, zone: Path) -> None:
        self._file = KernelFile(str(zone / "energy_uj"))
        self._range_microjoules = int((zone / "max_energy_range_uj").read_text())
        self._last_microjoules = int(self._file.read())
        self._sum_microjoules = 0

    def joules(self) -> float:
        microjoules = int(self._file.read())
        growth = microjoules - self._last_microjoules
        self._sum_microjoules += growth if growth >= 0 else growth + self._range_microjoules
        self._last_microjoules = microjoules
        return self._sum_microjoules / 1e6


def _whole(zone: Path) -> bool:
    # Other zones are parts of a package or, like `psys`, hold packages: they would count twice.
    return (zone / "name").read_text().startswith("package")


class _Gauge(NamedTuple):
    """One figure of one GPU."""

    column: str
    ask: Callable[[int], float]
    gpu: int


class Gpus:
    """All gauges of all GPUs; one that stops answering empties its own cells only."""

    def __init__(self, gauges: list[_Gauge]) -> None:
        self._gauges = gauges
        self.columns = tuple(gauge.column for gauge in gauges)

    def read(self) -> tuple[float, ...]:
        """One figure per gauge."""
        return tuple(_answer(gauge) for gauge in self._gauges)


def open_gpus(module: ModuleType | None = None) -> Sensor | None:
    """Open the GPUs; None without any. `module` stands in for pynvml where there is no GPU."""
    try:
        nvml = open_nvml(module)
        count = nvml.device_count()
    except NvmlError:
        return None
    gauges = [gauge for index in range(count) for gauge in _gauges(nvml, index)]
    supported = [gauge for gauge in gauges if _is_supported(gauge)]
    return Gpus(supported) if supported else None


def _gauges(nvml: Nvml, index: int) -> list[_Gauge]:
    return [
        _Gauge(f"gpu{index}_percent", nvml.busy_percent, index),
        _Gauge(f"gpu{index}_memory_percent", nvml.memory_percent, index),
        _Gauge(f"gpu{index}_power_watts", nvml.power_watts, index),
    ]


def _is_supported(gauge: _Gauge) -> bool:
    try:
        gauge.ask(gauge.gpu)
    except NvmlUnsupportedError:
        return False
    except NvmlError:
        # It may answer later, and columns cannot be added then.
        return True
    return True


def _answer(gauge: _Gauge) -> float:
    try:
        return gauge.ask(gauge.gpu)
    except NvmlError:
        return UNKNOWN
