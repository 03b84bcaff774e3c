"""The pressure sensor: the share of the time in which some task waited for a resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.machine.kernel import parse_pressure
from prumo.measure.sampler.kernel_file import KernelFile, open_kernel_file
from prumo.measure.sampler.sensor import Rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo.measure.sampler.sensor import Sensor

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
