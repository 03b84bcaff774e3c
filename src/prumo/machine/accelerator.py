"""What the makers of accelerators say of them: peak speeds and memory bandwidth.

Dense figures, without the sparsity that doubles them on paper. Collected in November 2026 from
NVIDIA's data sheets of each card, Google's Cloud TPU pages (cloud.google.com/tpu/docs) and, for the
A10G, which has no data sheet of its own, Amazon's account of EC2 G5. Of the forms of a card (SXM,
NVL, PCIe) the slower figure stands. A TPU row is one device as frameworks count them: half a chip
of v2 and v3, a chip of later ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Accelerator:
    """One device; speeds in floating-point operations per second."""

    name: str
    device: str
    """What frameworks call it: `cuda`, `tpu` or `cpu`."""
    fp32_flops: float
    half_flops: float
    """In fp16 or bf16, by the matrix units."""
    bytes_per_second: float
    tf32_flops: float | None = None
    """Where fp32 may be computed by the matrix units, with shorter factors."""
    source: str = ""

    def peak_flops(self, precision: str) -> tuple[float, float]:
        """The least and the most that its maker promises in a precision."""
        if precision != "fp32":
            return self.half_flops, self.half_flops
        return self.fp32_flops, self.tf32_flops or self.fp32_flops

    def peak_format(self, precision: str) -> str:
        """The numbers that the most is promised for, which need not be those of the precision."""
        if self.device == "cpu":
            return "fp32"
        if self.device == "tpu":
            return "bf16"
        return "TF32" if precision == "fp32" and self.tf32_flops else precision


T, G = 1e12, 1e9
NVIDIA = "nvidia.com"
AMAZON = "aws.amazon.com/ec2/instance-types/g5"
GOOGLE = "cloud.google.com/tpu/docs"

ACCELERATORS = (
    Accelerator("T4", "cuda", 8.1 * T, 65 * T, 320 * G, source=NVIDIA),
    Accelerator("V100", "cuda", 15.7 * T, 125 * T, 900 * G, source=NVIDIA),
    Accelerator("A100", "cuda", 19.5 * T, 312 * T, 1555 * G, 156 * T, NVIDIA),
    Accelerator("A100-80GB", "cuda", 19.5 * T, 312 * T, 1935 * G, 156 * T, NVIDIA),
    Accelerator("H100", "cuda", 60 * T, 835 * T, 3350 * G, 417 * T, NVIDIA),
    Accelerator("L4", "cuda", 30.3 * T, 121 * T, 300 * G, 60 * T, NVIDIA),
    Accelerator("A10G", "cuda", 35 * T, 70 * T, 600 * G, source=AMAZON),
    Accelerator("tpu-v2", "tpu", 22.5 * T, 22.5 * T, 300 * G, source=GOOGLE),
    Accelerator("tpu-v3", "tpu", 61.5 * T, 61.5 * T, 450 * G, source=GOOGLE),
    Accelerator("tpu-v4", "tpu", 275 * T, 275 * T, 1200 * G, source=GOOGLE),
    Accelerator("tpu-v5litepod", "tpu", 197 * T, 197 * T, 819 * G, source=GOOGLE),
    Accelerator("tpu-v5p", "tpu", 459 * T, 459 * T, 2765 * G, source=GOOGLE),
    Accelerator("tpu-v6e", "tpu", 918 * T, 918 * T, 1638 * G, source=GOOGLE),
)
BY_NAME = {accelerator.name.lower(): accelerator for accelerator in ACCELERATORS}

CORE_FLOPS = 96 * G
"""Two fused multiply-adds of eight numbers in each cycle (AVX2) at 3 GHz."""
CORE_BYTES_PER_SECOND = 5 * G
"""A core's share of the memory channels of a server."""


def find_accelerator(name: str) -> Accelerator | None:
    """The accelerator that a price or a driver names; None where its data are not known.

    >>> find_accelerator("tpu-v5litepod-8").name, find_accelerator("Tesla T4").name
    ('tpu-v5litepod', 'T4')
    """
    words = name.lower()
    if words.startswith("tpu"):
        return BY_NAME.get(re.sub(r"-\d+$", "", words))
    if words in BY_NAME:
        return BY_NAME[words]
    named = [
        accelerator
        for key, accelerator in BY_NAME.items()
        if re.search(rf"(?<![a-z0-9]){re.escape(key)}(?![a-z0-9])", words)
    ]
    found = max(named, key=lambda accelerator: len(accelerator.name), default=None)
    if found and found.name == "A100" and "80gb" in words:
        return BY_NAME["a100-80gb"]
    return found


def processor(cores: float) -> Accelerator:
    """A processor of so many cores."""
    return Accelerator(
        name="cpu",
        device="cpu",
        fp32_flops=cores * CORE_FLOPS,
        half_flops=cores * CORE_FLOPS,
        bytes_per_second=cores * CORE_BYTES_PER_SECOND,
        source="AVX2 at 3 GHz",
    )
