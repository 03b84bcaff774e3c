"""Which Google hosts take which GPUs: lists price the two apart, a user pays for both.

After https://cloud.google.com/compute/docs/gpus and SkyPilot's catalog code.
"""

from __future__ import annotations

from dataclasses import dataclass

# Hosts that are sold with their GPUs only.
_WITH_GPUS = {
    "a2-highgpu-1g": ("A100", 1),
    "a2-highgpu-2g": ("A100", 2),
    "a2-highgpu-4g": ("A100", 4),
    "a2-highgpu-8g": ("A100", 8),
    "a2-megagpu-16g": ("A100", 16),
    "a2-ultragpu-1g": ("A100-80GB", 1),
    "a2-ultragpu-2g": ("A100-80GB", 2),
    "a2-ultragpu-4g": ("A100-80GB", 4),
    "a2-ultragpu-8g": ("A100-80GB", 8),
    "a3-highgpu-1g": ("H100", 1),
    "a3-highgpu-2g": ("H100", 2),
    "a3-highgpu-4g": ("H100", 4),
    "a3-highgpu-8g": ("H100", 8),
    "a3-megagpu-8g": ("H100-MEGA", 8),
    "a3-ultragpu-8g": ("H200", 8),
    "a4-highgpu-8g": ("B200", 8),
    "g2-standard-4": ("L4", 1),
    "g2-standard-8": ("L4", 1),
    "g2-standard-12": ("L4", 1),
    "g2-standard-16": ("L4", 1),
    "g2-standard-32": ("L4", 1),
    "g2-standard-24": ("L4", 2),
    "g2-standard-48": ("L4", 4),
    "g2-standard-96": ("L4", 8),
    "g4-standard-48": ("RTXPRO6000", 1),
    "g4-standard-96": ("RTXPRO6000", 2),
    "g4-standard-192": ("RTXPRO6000", 4),
    "g4-standard-384": ("RTXPRO6000", 8),
}
_GPU_FAMILIES = ("a2-", "a3-", "a4-", "a4x-", "g2-", "g4-")

# Others are attached to N1 hosts of at most so many vCPUs, by number of GPUs.
_N1_FAMILY = "n1-standard-"
_N1_MOST_VCPUS: dict[str, dict[float, int]] = {
    "K80": {1: 8, 2: 16, 4: 32, 8: 64},
    "P4": {1: 24, 2: 48, 4: 96},
    "P100": {1: 16, 2: 32, 4: 96},
    "T4": {1: 48, 2: 48, 4: 96},
    "V100": {1: 12, 2: 24, 4: 48, 8: 96},
}


@dataclass(frozen=True)
class Gpus:
    """GPUs that are priced without a host."""

    name: str
    count: float

    @property
    def label(self) -> str:
        """As it stands in the name of a machine: `T4`, `2xT4`."""
        return self.name if self.count == 1 else f"{self.count:g}x{self.name}"


def takes(host: str, vcpus: float | None, gpus: Gpus) -> bool:
    """Whether a machine can be had of this host and these GPUs."""
    if host in _WITH_GPUS:
        return _WITH_GPUS[host] == (gpus.name, gpus.count)
    most_vcpus = _N1_MOST_VCPUS.get(gpus.name, {}).get(gpus.count, 0)
    return host.startswith(_N1_FAMILY) and vcpus is not None and vcpus <= most_vcpus


def needs_gpus(host: str) -> bool:
    """Whether the price of a host alone is that of nothing one can rent."""
    return host.startswith(_GPU_FAMILIES)
