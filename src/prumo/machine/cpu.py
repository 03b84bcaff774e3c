"""The processor: what it is, and how much of it this process may use."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

from prumo.machine.cgroup import quota_cores
from prumo.machine.kernel import PROC, read_text
from prumo_worker.processor import vector_flags


@dataclass(frozen=True)
class Cpu:
    """The processor and the share of it that this process may use."""

    model: str | None
    architecture: str
    vector_extensions: tuple[str, ...]
    """By the kernel's names, such as avx2, avx512f, amx_bf16, asimd (Neon), sve."""
    physical_cores: int | None
    logical_cores: int
    affinity_cores: int
    """Logical cores on which this process may be scheduled."""
    quota_cores: float | None
    """Processor time that the control groups allow, in cores; None without a quota."""
    usable_cores: int
    virtual: bool | None
    """Whether the processor says that a hypervisor is below it; None where it does not say."""


def read_cpu() -> Cpu:
    """Look at the processor."""
    import psutil  # noqa: PLC0415 (a server counts its cores without it)

    info = parse_cpuinfo(read_text(PROC / "cpuinfo") or "")
    flags = info.get("flags", info.get("features", "")).split()
    logical = os.cpu_count() or 1
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else logical
    quota = quota_cores()
    return Cpu(
        model=info.get("model name") or platform.processor() or None,
        architecture=platform.machine(),
        vector_extensions=vector_flags(flags),
        physical_cores=psutil.cpu_count(logical=False),
        logical_cores=logical,
        affinity_cores=affinity,
        quota_cores=quota,
        usable_cores=usable_cores(affinity, quota),
        virtual="hypervisor" in flags if "flags" in info else None,
    )


def usable_cores(affinity: int, quota: float | None) -> int:
    """Whole cores that a run can keep busy.

    A broken quota is rounded down: one thread too many and the kernel stops all of them for the
    rest of every period.

    >>> usable_cores(8, 2.5)
    2
    """
    return affinity if quota is None else max(1, min(affinity, int(quota)))


def parse_cpuinfo(text: str) -> dict[str, str]:
    """The first processor's fields, keys in lower case."""
    first = text.split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in pairs}
