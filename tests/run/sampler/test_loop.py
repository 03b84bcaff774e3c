"""The loop on a clock that the test holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo.run.sampler import Clock, Table, columns_of, sample
from prumo.run.sampler.sensors import Sensor

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.run.sampler import Tally


class World:
    """A clock and a controller in one: time passes only while the sampler waits."""

    def __init__(self, lifetime_seconds: float, delays: dict[int, float] | None = None) -> None:
        self.wall_seconds = 1_763_200_000.0
        self.monotonic_seconds = 5000.0
        self.jumps: dict[int, float] = {}
        """After so many waits the wall clock is set by so much."""
        self._delays = delays or {}
        self._end_seconds = self.monotonic_seconds + lifetime_seconds
        self._waits = 0

    def ends_within(self, seconds: float) -> bool:
        self._waits += 1
        self.wall_seconds += self.jumps.get(self._waits, 0.0)
        seconds += self._delays.get(self._waits, 0.0)
        ends = self.monotonic_seconds + seconds >= self._end_seconds
        passed = self._end_seconds - self.monotonic_seconds if ends else seconds
        self.monotonic_seconds += passed
        self.wall_seconds += passed
        return ends

    def clock(self) -> Clock:
        return Clock(wall=lambda: self.wall_seconds, monotonic=lambda: self.monotonic_seconds)


def scripted(*answers: tuple[float, float] | Exception) -> Sensor:
    """A sensor that gives what it is told, or fails as it is told."""
    left = list(answers)

    def read() -> tuple[float, ...]:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Sensor(("first_percent", "second_percent"), read)


def run(
    world: World, folder: Path, *sensors: Sensor, period: float = 1.0
) -> tuple[Tally, list[str]]:
    path = folder / "samples.csv"
    table = Table(str(path), columns_of(sensors))
    tally = sample(sensors, table, world.ends_within, world.clock(), period)
    table.close()
    return tally, path.read_text().splitlines()


def seconds_of(lines: list[str]) -> list[float]:
    return [float(line.split(",")[1]) for line in lines[1:]]


def test_there_is_a_row_at_the_start_at_every_period_and_at_the_end(tmp_path: Path) -> None:
    tally, lines = run(World(lifetime_seconds=3.4), tmp_path)
    assert lines[0] == "time,seconds"
    assert seconds_of(lines) == pytest.approx([0.0, 1.0, 2.0, 3.0, 3.4])
    assert tally == (5, 0, 1.0)


def test_a_run_shorter_than_a_period_has_two_rows(tmp_path: Path) -> None:
    tally, lines = run(World(lifetime_seconds=0.2), tmp_path, period=10.0)
    assert seconds_of(lines) == pytest.approx([0.0, 0.2])
    assert tally.samples == 2


@pytest.mark.parametrize("jump", [-7200.0, 7200.0])
def test_a_wall_clock_that_jumps_moves_the_label_and_not_the_seconds(
    tmp_path: Path, jump: float
) -> None:
    world = World(lifetime_seconds=4.0)
    world.jumps[2] = jump
    _, lines = run(world, tmp_path)
    assert seconds_of(lines) == pytest.approx([0.0, 1.0, 2.0, 3.0, 4.0])
    labels = [float(line.split(",")[0]) for line in lines[1:]]
    assert labels[2] - labels[1] == pytest.approx(1.0 + jump)


def test_a_suspended_machine_costs_rows_but_brings_no_burst(tmp_path: Path) -> None:
    tally, lines = run(World(lifetime_seconds=104.0, delays={2: 99.3}), tmp_path)
    assert seconds_of(lines) == pytest.approx([0.0, 1.0, 101.3, 102.0, 103.0, 104.0])
    assert tally.late == 1


def test_a_sensor_that_fails_leaves_its_cells_empty_and_may_come_back(tmp_path: Path) -> None:
    failing = scripted((1.0, 2.0), OSError("gone"), ValueError("nonsense"), (3.0, 4.0))
    steady = scripted((7.0, 8.0), (7.0, 8.0), (7.0, 8.0), (7.0, 8.0))
    _, lines = run(World(lifetime_seconds=2.5), tmp_path, failing, steady)
    cells = [line.split(",")[2:] for line in lines[1:]]
    assert cells == [
        ["1.000", "2.000", "7.000", "8.000"],
        ["", "", "7.000", "8.000"],
        ["", "", "7.000", "8.000"],
        ["3.000", "4.000", "7.000", "8.000"],
    ]
