from __future__ import annotations

import math

import pytest

from prumo.run.sampler.sensors import open_gpus
from support.fakes_machine import FakeGpu, fake_nvml


def test_each_gpu_has_its_load_its_memory_and_its_power() -> None:
    busy = FakeGpu(busy_percent=97, used_bytes=12 * 1024**3, power_milliwatts=68_500)
    sensor = open_gpus(fake_nvml(busy, FakeGpu(busy_percent=0)))
    assert sensor is not None
    assert sensor.columns == (
        *("gpu0_percent", "gpu0_memory_percent", "gpu0_power_watts"),
        *("gpu1_percent", "gpu1_memory_percent", "gpu1_power_watts"),
    )
    assert sensor.read() == pytest.approx((97.0, 75.0, 68.5, 0.0, 25.0, 70.0))


def test_a_gpu_that_stops_answering_empties_its_own_cells_only() -> None:
    first, second = FakeGpu(), FakeGpu()
    sensor = open_gpus(fake_nvml(first, second))
    assert sensor is not None
    first.answers = False
    figures = sensor.read()
    assert all(map(math.isnan, figures[:3]))
    assert figures[3:] == (50.0, 25.0, 70.0)
    first.answers = True
    assert sensor.read()[:3] == (50.0, 25.0, 70.0)


def test_a_gpu_that_counts_no_power_has_no_column_for_it() -> None:
    sensor = open_gpus(fake_nvml(FakeGpu(power_milliwatts=None)))
    assert sensor is not None
    assert sensor.columns == ("gpu0_percent", "gpu0_memory_percent")


def test_a_gpu_silent_at_the_start_keeps_its_columns() -> None:
    gpu = FakeGpu(answers=False)
    sensor = open_gpus(fake_nvml(gpu))
    assert sensor is not None
    assert len(sensor.columns) == 3
    gpu.answers = True
    assert sensor.read() == (50.0, 25.0, 70.0)
