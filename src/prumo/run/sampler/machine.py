"""The processor sensor: how busy the whole machine is, and what its hypervisor takes away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prumo.machine.kernel import CpuTicks, parse_cpu_ticks, parse_pressure
from prumo.run.sampler.sensor import UNKNOWN, KernelFile, Rate, open_kernel_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo.run.sampler.sensor import Sensor


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
