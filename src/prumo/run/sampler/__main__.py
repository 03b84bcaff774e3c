"""Start the sampler: `python -m prumo.run.sampler SAMPLES.csv ROOT_PID PERIOD_SECONDS`."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from prumo.run.sampler import (
    Clock,
    ControllerPipe,
    Table,
    columns_of,
    memory_bytes,
    open_tree,
    sample,
)
from prumo.run.sampler.sensors import (
    open_energy,
    open_gpus,
    open_memory,
    open_pressure,
    open_processor,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo.run.sampler.sensors import Sensor


def main(arguments: list[str]) -> int:
    """Sample until its controller ends, then print one line of JSON about the sampling."""
    try:
        path, root, period_seconds = arguments[0], int(arguments[1]), float(arguments[2])
    except (IndexError, ValueError):
        sys.stderr.write("usage: python -m prumo.run.sampler SAMPLES.csv ROOT_PID SECONDS\n")
        return 2
    controller = ControllerPipe()
    clock = Clock()
    sensors = open_sensors(root, clock.monotonic)
    try:
        table = Table(path, columns_of(sensors))
    except OSError as error:
        sys.stderr.write(f"sampler: cannot write {path}: {error.strerror}\n")
        return 2
    before_cpu_seconds = time.process_time()
    tally = sample(sensors, table, controller.ends_within, clock, period_seconds)
    total_cpu_seconds = time.process_time()
    table.close()
    report = {
        "samples": tally.samples,
        "late": tally.late,
        "lost": table.lost,
        "period_seconds": tally.period_seconds,
        "cpu_seconds": round(total_cpu_seconds - before_cpu_seconds, 6),
        "total_cpu_seconds": round(total_cpu_seconds, 6),
        "memory_bytes": memory_bytes(),
    }
    # A controller that was killed reads no report, and that is no error of the sampler's.
    with suppress(BrokenPipeError):
        os.write(1, f"{json.dumps(report)}\n".encode())
    return 0


def open_sensors(root: int, clock: Callable[[], float]) -> list[Sensor]:
    """Open every sensor for which this machine has the hardware."""
    opened = [
        open_processor(clock),
        open_tree(root, clock),
        open_memory(),
        open_pressure(clock),
        open_gpus(),
        open_energy(),
    ]
    return [sensor for sensor in opened if sensor is not None]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
