"""The memory of the machine and the part of it that this process may have."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from prumo.machine.hierarchy import MemoryLimit, memory_limit


@dataclass(frozen=True)
class Memory:
    """Memory in bytes."""

    total_bytes: int
    limit_bytes: int | None
    """The tightest limit of the control groups; None when the whole machine is allowed."""
    usable_bytes: int
    """The total or the limit, whichever is less."""
    available_bytes: int
    """What can be had now without swapping and within the limit."""
    swap_total_bytes: int
    swap_used_bytes: int


def read_memory() -> Memory:
    """Look at the memory."""
    machine, swap = psutil.virtual_memory(), psutil.swap_memory()
    return within(memory_limit(), machine.total, machine.available, swap.total, swap.used)


def within(
    limit: MemoryLimit | None, total: int, available: int, swap_total: int, swap_used: int
) -> Memory:
    """The machine's memory under a limit; one above the machine's memory is none."""
    binding = limit if limit and limit.limit_bytes < total else None
    return Memory(
        total_bytes=total,
        limit_bytes=binding.limit_bytes if binding else None,
        usable_bytes=binding.limit_bytes if binding else total,
        available_bytes=min(available, binding.free_bytes) if binding else available,
        swap_total_bytes=swap_total,
        swap_used_bytes=swap_used,
    )
