"""The vector instructions of the processor, which decide about speed everywhere.."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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
