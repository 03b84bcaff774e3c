"""The energy sensor: what the processor packages have consumed (RAPL), where they count it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prumo.measure.sampler.kernel_file import KernelFile

if TYPE_CHECKING:
    from prumo.measure.sampler.sensor import Sensor


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
