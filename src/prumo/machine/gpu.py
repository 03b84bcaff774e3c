"""The NVIDIA GPUs of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.machine.nvml import Nvml, NvmlError, open_nvml

if TYPE_CHECKING:
    from types import ModuleType


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
    try:
        nvml = open_nvml(module)
        gpus = _all(nvml)
        nvml.close()
    except NvmlError as error:
        return Gpus((), None, str(error))
    return gpus


def _all(nvml: Nvml) -> Gpus:
    found = [_one(nvml, index) for index in range(nvml.device_count())]
    devices = tuple(gpu for gpu in found if gpu is not None)
    missing = "" if devices else "the driver lists no GPU that answers"
    return Gpus(devices, nvml.driver_version(), missing)


def _one(nvml: Nvml, index: int) -> Gpu | None:
    try:
        name = nvml.name(index)
    except NvmlError:
        return None
    try:
        return Gpu(index, name, nvml.memory_bytes(index))
    except NvmlError:
        # GPUs that share the machine's memory have no figure of their own.
        return Gpu(index, name, None)
