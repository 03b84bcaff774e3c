"""The contract that every sensor keeps, whatever it reads."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prumo.run.sampler import open_tree
from prumo.run.sampler.sensors import (
    open_energy,
    open_gpus,
    open_memory,
    open_pressure,
    open_processor,
    other_memory,
    other_processor,
)
from support.fakes_machine import FakeGpu, fake_nvml

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo.run.sampler.sensors import Sensor


def make_powercap(folder: Path) -> Path:
    zone = folder / "intel-rapl:0"
    zone.mkdir()
    (zone / "name").write_text("package-0\n")
    (zone / "energy_uj").write_text("1000000\n")
    (zone / "max_energy_range_uj").write_text("262143328850\n")
    return folder


def make_pressure(folder: Path) -> str:
    for resource in ("cpu", "memory", "io"):
        (folder / resource).write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n")
    return str(folder)


PRESENT: dict[str, Callable[[Path], Sensor | None]] = {
    "processor": lambda _: open_processor(time.monotonic),
    "processor elsewhere": lambda _: other_processor(time.monotonic),
    "memory": lambda _: open_memory(),
    "memory elsewhere": lambda _: other_memory(),
    "tree": lambda _: open_tree(os.getpid(), time.monotonic),
    "pressure": lambda folder: open_pressure(time.monotonic, make_pressure(folder)),
    "gpu": lambda _: open_gpus(fake_nvml(FakeGpu(), FakeGpu())),
    "energy": lambda folder: open_energy(make_powercap(folder)),
}

ABSENT: dict[str, Callable[[Path], Sensor | None]] = {
    "tree": lambda _: open_tree(2**22 + 1, time.monotonic),
    "pressure": lambda folder: open_pressure(time.monotonic, str(folder)),
    "gpu without driver": lambda _: open_gpus(fake_nvml(driver=False)),
    "gpu without devices": lambda _: open_gpus(fake_nvml()),
    "energy": open_energy,
}


@pytest.mark.parametrize("name", PRESENT)
def test_a_sensor_gives_one_float_per_column_every_time(name: str, tmp_path: Path) -> None:
    sensor = PRESENT[name](tmp_path)
    assert sensor is not None
    columns = sensor.columns
    assert columns
    assert len(set(columns)) == len(columns)
    for _ in range(3):
        figures = sensor.read()
        assert len(figures) == len(columns)
        assert all(isinstance(figure, float) for figure in figures)
        assert sensor.columns == columns


@pytest.mark.parametrize("name", ABSENT)
def test_absent_hardware_is_no_sensor(name: str, tmp_path: Path) -> None:
    assert ABSENT[name](tmp_path) is None


def test_where_there_is_no_proc_other_counters_serve() -> None:
    processor = open_processor(time.monotonic, stat="/nowhere")
    assert processor.columns == ("cpu_percent",)
    (memory_percent, swap_bytes) = open_memory(meminfo="/nowhere").read()
    assert 0 < memory_percent < 100
    assert swap_bytes >= 0


def test_every_column_is_one_of_the_contract(tmp_path: Path) -> None:
    contract = Path(__file__).parents[3] / "docs" / "contracts.md"
    promised = contract.read_text(encoding="utf-8")
    for name, opened in PRESENT.items():
        folder = tmp_path / name
        folder.mkdir()
        sensor = opened(folder)
        assert sensor is not None
        for column in sensor.columns:
            assert f"`{column.replace('gpu1', 'gpu0')}`" in promised
