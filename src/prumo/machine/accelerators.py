"""Accelerators: NVIDIA GPUs through their management library, TPUs, and whether one is here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from prumo.errors import UnavailableError
from prumo.machine.kernel import read_text


class NvmlError(Exception):
    """The library, its driver or a GPU does not answer."""


class NvmlUnsupportedError(NvmlError):
    """This GPU does not count what was asked."""


class Nvml:
    """An open session with the library; NvmlError says why there is none."""

    def __init__(self, module: ModuleType | None = None) -> None:
        self._module: Any = module or import_module("pynvml")
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


@dataclass(frozen=True)
class Gpu:
    """One GPU, by the driver's number."""

    index: int
    name: str
    memory_bytes: int | None


@dataclass(frozen=True)
class Gpus:
    """All GPUs and their driver, or the reason why there are none."""

    devices: tuple[Gpu, ...]
    driver_version: str | None
    missing: str
    """Why no GPU is listed; empty when one is."""


def read_gpus(module: ModuleType | None = None) -> Gpus:
    """Look at the GPUs; `module` stands in for pynvml where there is no GPU."""
    devices: list[Gpu] = []
    try:
        nvml = Nvml(module)
        for index in range(nvml.device_count()):
            with suppress(NvmlError):
                devices.append(Gpu(index, nvml.name(index), None))
                # GPUs that share the machine's memory have no figure of their own.
                devices[-1] = replace(devices[-1], memory_bytes=nvml.memory_bytes(index))
        driver_version = nvml.driver_version()
        nvml.close()
    except NvmlError as error:
        return Gpus((), None, str(error))
    missing = "" if devices else "the driver lists no GPU that answers"
    return Gpus(tuple(devices), driver_version, missing)


PCI_DEVICES = Path("/sys/bus/pci/devices")
_GOOGLE = "0x1ae0"
# Google's network cards and disks have its number too. From v2 to 7x, as JAX knows them.
_TPUS = {"0x0027", "0x0056", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}


def has_tpu(devices: Path = PCI_DEVICES) -> bool:
    """Look at the devices on the PCI bus."""
    return any(
        read_text(vendor) == _GOOGLE and read_text(vendor.with_name("device")) in _TPUS
        for vendor in devices.glob("*/vendor")
    )


def require_device(device: str) -> None:
    """Refuse a device that is absent (UnavailableError), before an environment is made for it."""
    if device == "cuda" and not (found := read_gpus()).devices:
        raise UnavailableError(f"no NVIDIA GPU on this machine: {found.missing}")
    if device == "tpu" and not has_tpu():
        raise UnavailableError("no TPU on this machine: none is on its PCI bus")
