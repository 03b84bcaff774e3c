"""Whether the device that a run asks for is on this machine."""

from __future__ import annotations

from prumo.errors import UnavailableError
from prumo.machine.gpu import read_gpus
from prumo.machine.tpu import has_tpu


def require_device(device: str) -> None:
    """UnavailableError for a device that is not here, told before an environment is made for it."""
    if device == "cuda" and not (found := read_gpus()).devices:
        raise UnavailableError(f"no NVIDIA GPU on this machine: {found.missing}")
    if device == "tpu" and not has_tpu():
        raise UnavailableError("no TPU on this machine: none is on its PCI bus")
