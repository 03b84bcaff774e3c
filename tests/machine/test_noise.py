from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from prumo.machine.kernel import CpuTicks, parse_cpu_ticks, parse_pressure, read_cpu_ticks
from prumo.machine.machine import measure_noise, noise_now, repeat_work, steadiness

if TYPE_CHECKING:
    from pathlib import Path


def test_the_noise_of_this_moment_is_within_bounds() -> None:
    now = noise_now()
    for percent in (
        now.steal_percent,
        now.pressure_cpu_percent,
        now.pressure_memory_percent,
        now.pressure_io_percent,
    ):
        assert percent is None or 0 <= percent <= 100
    assert now.load_average is None or now.load_average >= 0


def test_a_system_without_these_files_tells_nothing_and_does_not_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prumo.machine.kernel.PROC", tmp_path)
    now = noise_now()
    assert now.steal_percent is None
    assert now.pressure_cpu_percent is None
    assert now.pressure_io_percent is None


def test_stolen_time_counts_from_the_given_moment() -> None:
    ticks = read_cpu_ticks()
    if ticks is None:
        pytest.skip("this system has no /proc/stat")
    everything_stolen_since = CpuTicks(ticks.busy, ticks.stolen - 10**9, ticks.total - 10**9)
    stolen = noise_now(since=everything_stolen_since).steal_percent
    assert stolen == pytest.approx(100, abs=0.1)


def test_noise_is_measured_by_repeating_real_work() -> None:
    noise = measure_noise()
    assert noise.steadiness is not None
    assert noise.steadiness.repeats >= 10
    assert noise.steadiness.slowest_to_fastest >= 1


def test_steady_work_has_no_variation() -> None:
    assert steadiness([0.01] * 10).variation_percent == 0
    assert steadiness([0.01] * 10).slowest_to_fastest == 1


def test_variation_is_the_standard_deviation_in_percent_of_the_mean() -> None:
    described = steadiness([1.0, 2.0, 3.0])
    assert described.variation_percent == pytest.approx(50)
    assert described.slowest_to_fastest == 3
    assert described.median_seconds == 2


def test_warm_up_is_left_out_and_slow_machines_still_repeat() -> None:
    calls = itertools.count()
    ticking = itertools.count(step=1.0)
    spans = repeat_work(lambda: next(calls), lambda: next(ticking))
    assert len(spans) == 10
    assert next(calls) == 13
    assert set(spans) == {1.0}


def test_guest_time_is_not_counted_twice() -> None:
    assert parse_cpu_ticks("cpu  10 1 5 80 2 1 1 4 3 0\ncpu0 1 2") == CpuTicks(18, 4, 104)


def test_pressure_is_read_from_the_line_of_some() -> None:
    text = (
        "some avg10=1.50 avg60=0.10 avg300=0.00 total=2500000\n"
        "full avg10=9.00 avg60=9.00 avg300=9.00 total=9\n"
    )
    assert parse_pressure(text) == (1.5, 2.5)
