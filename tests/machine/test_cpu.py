from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

import psutil
import pytest

from prumo.machine.cpu import parse_cpuinfo, read_cpu, usable_cores
from prumo_worker.processor import vector_flags

if TYPE_CHECKING:
    from pathlib import Path


def test_this_processor_is_described() -> None:
    cpu = read_cpu()
    assert cpu.architecture == os.uname().machine
    assert cpu.logical_cores == psutil.cpu_count()
    assert 1 <= cpu.usable_cores <= cpu.affinity_cores <= cpu.logical_cores


def test_a_process_bound_to_one_core_may_use_one() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system binds no process to a core")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert read_cpu().usable_cores == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize(
    ("affinity", "quota", "expected"),
    [(8, None, 8), (8, 4.0, 4), (8, 2.5, 2), (8, 0.5, 1), (2, 16.0, 2)],
)
def test_usable_cores_are_the_lesser_of_affinity_and_quota(
    affinity: int, quota: float | None, expected: int
) -> None:
    assert usable_cores(affinity, quota) == expected


def test_only_flags_of_array_arithmetic_are_vector_extensions() -> None:
    x86 = ["fpu", "sse4_2", "smep", "avx2", "avx512f", "avx512_vnni", "amx_bf16", "smap"]
    assert vector_flags(x86) == ("sse4_2", "avx2", "avx512f", "avx512_vnni", "amx_bf16")
    arm = ["fp", "asimd", "aes", "sha1", "sve", "sve2", "svebf16", "i8mm"]
    assert vector_flags(arm) == ("asimd", "sve", "sve2", "svebf16", "i8mm")


def test_the_first_processor_of_cpuinfo_speaks_for_all() -> None:
    text = "processor\t: 0\nmodel name\t: Fast CPU @ 2: x\n\nprocessor\t: 1\nmodel name\t: Other\n"
    assert parse_cpuinfo(text) == {"processor": "0", "model name": "Fast CPU @ 2: x"}


def test_a_system_without_cpuinfo_is_described_as_far_as_it_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prumo.machine.cpu.PROC", tmp_path)
    cpu = read_cpu()
    assert cpu.model == (platform.processor() or None)
    assert cpu.vector_extensions == ()
    assert cpu.virtual is None
    assert cpu.usable_cores >= 1
