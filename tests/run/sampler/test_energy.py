from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo.run.sampler.sensors import open_energy

if TYPE_CHECKING:
    from pathlib import Path

RANGE_MICROJOULES = 1_000_000_000


def make_zone(folder: Path, zone: str, name: str, microjoules: int) -> Path:
    path = folder / zone
    path.mkdir()
    (path / "name").write_text(f"{name}\n")
    (path / "energy_uj").write_text(f"{microjoules}\n")
    (path / "max_energy_range_uj").write_text(f"{RANGE_MICROJOULES}\n")
    return path / "energy_uj"


def test_energy_counts_from_the_start_over_all_packages(tmp_path: Path) -> None:
    first = make_zone(tmp_path, "intel-rapl:0", "package-0", 400_000_000)
    second = make_zone(tmp_path, "intel-rapl:1", "package-1", 100_000_000)
    sensor = open_energy(tmp_path)
    assert sensor is not None
    assert sensor.read() == (0.0,)
    first.write_text("401500000")
    second.write_text("102000000")
    assert sensor.read() == pytest.approx((3.5,))


def test_a_full_counter_starts_again_and_nothing_is_lost(tmp_path: Path) -> None:
    counter = make_zone(tmp_path, "intel-rapl:0", "package-0", RANGE_MICROJOULES - 2_000_000)
    sensor = open_energy(tmp_path)
    assert sensor is not None
    counter.write_text("3000000")
    assert sensor.read() == pytest.approx((5.0,))
    counter.write_text("4000000")
    assert sensor.read() == pytest.approx((6.0,))


def test_parts_of_a_package_and_the_whole_platform_are_not_counted_again(tmp_path: Path) -> None:
    package = make_zone(tmp_path, "intel-rapl:0", "package-0", 0)
    core = make_zone(tmp_path, "intel-rapl:0:0", "core", 0)
    platform = make_zone(tmp_path, "intel-rapl:1", "psys", 0)
    sensor = open_energy(tmp_path)
    assert sensor is not None
    package.write_text("1000000")
    core.write_text("9000000")
    platform.write_text("9000000")
    assert sensor.read() == pytest.approx((1.0,))


def test_a_counter_that_tells_no_number_is_no_sensor(tmp_path: Path) -> None:
    make_zone(tmp_path, "intel-rapl:0", "package-0", 0).write_text("")
    assert open_energy(tmp_path) is None
