"""NVIDIA's management library: the few questions asked of it, and its errors as one kind."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType


class NvmlError(Exception):
    """The library, its driver or a GPU does not answer."""


class NvmlUnsupportedError(NvmlError):
    """This GPU does not count what was asked."""


class Nvml:
    """An open session with the library."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._ask("nvmlInit")

    def driver_version(self) -> str:
        """The driver's version."""
        return str(self._ask("nvmlSystemGetDriverVersion"))

    def device_count(self) -> int:
        """How many GPUs the driver knows."""
        return int(self._ask("nvmlDeviceGetCount"))

    def name(self, index: int) -> str:
        """The GPU's product name."""
        return str(self._ask_device(index, "nvmlDeviceGetName"))

    def memory_bytes(self, index: int) -> int:
        """The GPU's memory, used or not."""
        return int(self._ask_device(index, "nvmlDeviceGetMemoryInfo").total)

    def busy_percent(self, index: int) -> float:
        """Share of the last moments in which some kernel ran on the GPU."""
        return float(self._ask_device(index, "nvmlDeviceGetUtilizationRates").gpu)

    def memory_percent(self, index: int) -> float:
        """Share of the GPU's memory in use, which is not the library's own `memory` rate."""
        info = self._ask_device(index, "nvmlDeviceGetMemoryInfo")
        return 100.0 * float(info.used) / float(info.total)

    def power_watts(self, index: int) -> float:
        """What the board draws now; the library counts in milliwatts."""
        return float(self._ask_device(index, "nvmlDeviceGetPowerUsage")) / 1000.0

    def close(self) -> None:
        """End the session."""
        self._ask("nvmlShutdown")

    def _ask_device(self, index: int, question: str) -> Any:  # noqa: ANN401 (untyped library)
        return self._ask(question, self._ask("nvmlDeviceGetHandleByIndex", index))

    def _ask(self, question: str, *arguments: object) -> Any:  # noqa: ANN401 (untyped library)
        try:
            return getattr(self._module, question)(*arguments)
        except self._module.NVMLError_NotSupported as error:
            raise NvmlUnsupportedError(str(error)) from error
        except self._module.NVMLError as error:
            raise NvmlError(str(error)) from error


def open_nvml(module: ModuleType | None = None) -> Nvml:
    """Open the library; NvmlError says why there is none."""
    return Nvml(module or import_module("pynvml"))
