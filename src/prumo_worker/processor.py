"""What the processor of this machine can do at once, which decides about speed everywhere."""

from __future__ import annotations

from pathlib import Path

CPU_FACTS = Path("/proc/cpuinfo")

_EXACT = {"sse4_2", "avx", "avx2", "fma", "f16c", "asimd", "sve", "sve2", "bf16", "i8mm"}
_FAMILIES = ("avx512", "avx_vnni", "amx_")


def vector_extensions(file: Path = CPU_FACTS) -> str:
    """The vector instructions of the first processor that Linux lists: `avx avx2 f16c fma`."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    # `flags` on x86, `Features` on ARM.
    words = next((line.split()[2:] for line in lines if line.startswith(("flags", "Features"))), [])
    known = {word for word in words if word in _EXACT or word.startswith(_FAMILIES)}
    return " ".join(sorted(known)) or "unknown"
