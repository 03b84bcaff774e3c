"""The processor sensor: how busy the whole machine is, and what its hypervisor takes away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.machine.kernel import CpuTicks, parse_cpu_ticks
from prumo.measure.sampler.kernel_file import KernelFile, open_kernel_file
from prumo.measure.sampler.sensor import UNKNOWN, Rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo.measure.sampler.sensor import Sensor

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
