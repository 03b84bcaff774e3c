"""The memory sensor: how much of the machine's memory and swap is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.measure.sampler.kernel_file import KernelFile, open_kernel_file

if TYPE_CHECKING:
    from prumo.measure.sampler.sensor import Sensor

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
