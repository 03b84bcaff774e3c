"""The loop: take a sample when one is due, until the lifeline ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from prumo.measure.sampler.schedule import Schedule
from prumo.measure.sampler.sensor import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prumo.measure.sampler.sensor import Sensor
    from prumo.measure.sampler.table import Table

TIME_COLUMNS = ("time", "seconds")


class Clock(NamedTuple):
    """A clock on the wall, which may jump and labels rows, and one that only goes forward."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic


class Waiting(Protocol):
    """What the loop waits on."""

    def ends_within(self, seconds: float) -> bool:
        """Wait; True as soon as the sampler shall end, False after the full time."""


class Tally(NamedTuple):
    """How the sampling went."""

    samples: int
    late: int
    period_seconds: float


def columns_of(sensors: Sequence[Sensor]) -> list[str]:
    """The table's columns, in the order of the sensors."""
    return [*TIME_COLUMNS, *(column for sensor in sensors for column in sensor.columns)]


def sample(
    sensors: Sequence[Sensor], table: Table, lifeline: Waiting, clock: Clock, period_seconds: float
) -> Tally:
    """Write a row now, one per period, and one at the end."""
    start = clock.monotonic()
    schedule = Schedule(start, period_seconds)
    _write_row(sensors, table, clock, start)
    samples, late = 1, 0
    while not lifeline.ends_within(schedule.wait_seconds(clock.monotonic())):
        late += schedule.take(clock.monotonic())
        _write_row(sensors, table, clock, start)
        samples += 1
    _write_row(sensors, table, clock, start)
    return Tally(samples + 1, late, schedule.period_seconds)


def _write_row(sensors: Sequence[Sensor], table: Table, clock: Clock, start: float) -> None:
    row = [clock.wall(), clock.monotonic() - start]
    for sensor in sensors:
        row += _read(sensor)
    table.write(row)


def _read(sensor: Sensor) -> tuple[float, ...]:
    try:
        return sensor.read()
    except (OSError, ValueError, LookupError):
        return (UNKNOWN,) * len(sensor.columns)
