"""What the processor and the GPU say about themselves, without any framework."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

CPU_FACTS = Path("/proc/cpuinfo")

# By the kernel's names: x86 first, then ARM (asimd is Neon).
_FLAGS = {
    *("sse4_2", "avx", "avx2", "fma", "f16c"),
    *("neon", "asimd", "asimdhp", "bf16", "i8mm", "sme", "sme2"),
}
_FAMILIES = ("avx512", "avx10", "avx_vnni", "amx_", "sve")


def vector_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """The flags that matter to arithmetic on arrays, in the kernel's order.

    >>> vector_flags(["fpu", "sse4_2", "avx2", "avx512f", "hypervisor"])
    ('sse4_2', 'avx2', 'avx512f')
    """
    return tuple(flag for flag in flags if flag in _FLAGS or flag.startswith(_FAMILIES))


def vector_extensions(file: Path = CPU_FACTS) -> str:
    """The vector instructions of the first processor that Linux lists: `avx avx2 f16c fma`."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    # `flags` on x86, `Features` on ARM.
    words = next((line.split()[2:] for line in lines if line.startswith(("flags", "Features"))), [])
    return " ".join(sorted(set(vector_flags(words)))) or "unknown"


def gpu_facts() -> dict[str, str]:
    """`name` and `driver` of the first GPU that CUDA may use; empty where none answers."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0] or "0"
    query = ["--query-gpu=name,driver_version", "--format=csv,noheader", f"--id={first}"]
    try:
        done = subprocess.run(
            ["nvidia-smi", *query], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    name, _, driver = done.stdout.strip().rpartition(", ")
    return {"name": name, "driver": driver} if name and driver else {}
