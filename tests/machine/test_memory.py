from __future__ import annotations

from prumo.machine.cgroup import MemoryLimit
from prumo.machine.machine import read_memory, within

GIB = 1024**3


def test_this_machines_memory_adds_up() -> None:
    memory = read_memory()
    assert 0 < memory.available_bytes <= memory.usable_bytes <= memory.total_bytes
    assert 0 <= memory.swap_used_bytes <= memory.swap_total_bytes


def test_a_control_groups_limit_is_what_may_be_used() -> None:
    memory = within(MemoryLimit(4 * GIB, 3 * GIB), 64 * GIB, 50 * GIB, 0, 0)
    assert memory.limit_bytes == 4 * GIB
    assert memory.usable_bytes == 4 * GIB
    assert memory.available_bytes == 3 * GIB


def test_a_machine_fuller_than_its_limit_has_only_what_is_left() -> None:
    memory = within(MemoryLimit(32 * GIB, 30 * GIB), 64 * GIB, 2 * GIB, 0, 0)
    assert memory.available_bytes == 2 * GIB


def test_a_limit_above_the_machines_memory_is_none() -> None:
    memory = within(MemoryLimit(128 * GIB, 128 * GIB), 64 * GIB, 50 * GIB, 0, 0)
    assert memory.limit_bytes is None
    assert memory.usable_bytes == 64 * GIB
