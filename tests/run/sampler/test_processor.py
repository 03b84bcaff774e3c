from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from prumo.run.sampler.sensors import open_processor

if TYPE_CHECKING:
    from pathlib import Path


def never() -> float:
    raise AssertionError("the kernel's own ticks are the clock here")


def write(path: Path, *, user: int, idle: int, stolen: int) -> None:
    path.write_text(f"cpu  {user} 0 0 {idle} 0 0 0 {stolen} 0 0\ncpu0 1 2 3\n")


def test_the_first_look_knows_no_rate(tmp_path: Path) -> None:
    write(tmp_path / "stat", user=10, idle=80, stolen=10)
    assert all(map(math.isnan, open_processor(never, str(tmp_path / "stat")).read()))


def test_busy_and_stolen_shares_are_those_since_the_last_look(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    write(stat, user=1000, idle=5000, stolen=1000)
    sensor = open_processor(never, str(stat))
    sensor.read()
    write(stat, user=1060, idle=5030, stolen=1010)
    assert sensor.read() == pytest.approx((60.0, 10.0))
    write(stat, user=1060, idle=5130, stolen=1010)
    assert sensor.read() == pytest.approx((0.0, 0.0))


def test_too_few_ticks_are_no_rate_and_are_not_lost(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    write(stat, user=0, idle=0, stolen=0)
    sensor = open_processor(never, str(stat))
    sensor.read()
    write(stat, user=2, idle=0, stolen=0)
    assert all(map(math.isnan, sensor.read()))
    write(stat, user=50, idle=50, stolen=0)
    assert sensor.read() == pytest.approx((50.0, 0.0))


def test_an_idle_counter_that_steps_back_stays_within_bounds(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    write(stat, user=100, idle=1000, stolen=0)
    sensor = open_processor(never, str(stat))
    sensor.read()
    write(stat, user=200, idle=990, stolen=0)
    assert sensor.read() == (100.0, 0.0)
