from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from prumo.run.sampler.sensors import open_pressure

if TYPE_CHECKING:
    from pathlib import Path


def test_pressure_is_the_stalled_share_of_the_time_between_looks(tmp_path: Path) -> None:
    now = [100.0]
    write(tmp_path, cpu=0, memory=0, io=7_000_000)
    sensor = open_pressure(lambda: now[0], str(tmp_path))
    assert sensor is not None
    assert all(map(math.isnan, sensor.read()))
    now[0] = 110.0
    write(tmp_path, cpu=2_500_000, memory=0, io=17_000_000)
    assert sensor.read() == pytest.approx((25.0, 0.0, 100.0))


def write(folder: Path, **stalled_microseconds: int) -> None:
    for resource, total in stalled_microseconds.items():
        line = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"
        (folder / resource).write_text(line)
