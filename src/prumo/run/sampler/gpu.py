"""The GPU sensor: how busy each NVIDIA GPU is, how full its memory, what it draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prumo.machine.accelerators import Nvml, NvmlError, NvmlUnsupportedError, open_nvml
from prumo.run.sampler.sensor import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from prumo.run.sampler.sensor import Sensor


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
