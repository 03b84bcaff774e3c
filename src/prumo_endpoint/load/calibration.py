"""How far the load generator can be trusted here and now: measured before every load experiment.

On a server that answers at once, what remains is the generator's own: how late it sends, what a
request costs it, and the highest rate that it holds. On a server that works on each request for a
fixed time, one after the other, the wait of every request follows from when it was due (Lindley's
recursion), and for random arrivals its mean is known from queueing theory (M/D/1).
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo_endpoint.load.generator import Generator
from prumo_endpoint.load.reference_server import reference_server
from prumo_endpoint.load.schedule import OpenLoop, constant_times, poisson_times

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prumo_endpoint.load.sent import Sent

HONEST_LATENESS_SECONDS = 0.001
"""Ours: a rate is held when 99 of 100 requests are at most this late."""
FIRST_RATE = 500.0
LAST_RATE = 64_000.0
STEP_SECONDS = 0.4
SERVICE_SECONDS = 0.01
UTILIZATION = 0.5
QUEUE_SECONDS = 2.0
_SEED = 20_240_611


@dataclass(frozen=True)
class Calibration:
    """The generator's own error, measured."""

    lateness_p50_seconds: float
    """At the highest rate that it holds, on a server that answers at once."""
    lateness_p99_seconds: float
    null_latency_p50_seconds: float
    """From due to answered there: what the generator and the machine's network add."""
    cpu_seconds_per_request: float
    honest_requests_per_second: float
    """The highest of the tried rates that it holds; 0 where it held none."""
    expected_wait_seconds: float
    """Mean wait of the requests sent to the fixed-service server, by their times."""
    theory_wait_seconds: float
    """Mean wait of random arrivals at this rate in the long run: M/D/1."""
    wait_error_seconds: float
    """Mean of measured less expected latency there."""
    wait_error_p99_seconds: float

    def as_dict(self) -> dict[str, Any]:
        """For the run's record."""
        return asdict(self)


def calibrate(request: bytes) -> Calibration:
    """Measure the generator with a request as it will be sent; takes a few seconds."""
    null, rate = _null_load(request)
    rows, cpu_seconds = null
    lateness = [row.lateness_seconds for row in rows]
    waits, errors = _queue_load(request)
    return Calibration(
        lateness_p50_seconds=float(np.quantile(lateness, 0.5)),
        lateness_p99_seconds=float(np.quantile(lateness, 0.99)),
        null_latency_p50_seconds=float(np.median([row.latency_seconds for row in rows])),
        cpu_seconds_per_request=cpu_seconds / len(rows),
        honest_requests_per_second=rate,
        expected_wait_seconds=float(np.mean(waits)),
        theory_wait_seconds=mean_wait_seconds(UTILIZATION, SERVICE_SECONDS),
        wait_error_seconds=float(np.mean(errors)),
        wait_error_p99_seconds=float(np.quantile(np.abs(errors), 0.99)),
    )


def mean_wait_seconds(utilization: float, service_seconds: float) -> float:
    """The mean wait in a queue with random arrivals and a fixed service time (M/D/1)."""
    return utilization * service_seconds / (2 * (1 - utilization))


def expected_waits(due_seconds: Iterable[float], service_seconds: float) -> list[float]:
    """How long each request waits for those before it, where one is worked on at a time."""
    waits = []
    free_at = 0.0
    for due in due_seconds:
        waits.append(max(0.0, free_at - due))
        free_at = max(free_at, due) + service_seconds
    return waits


def _null_load(request: bytes) -> tuple[tuple[list[Sent], float], float]:
    """The load at the highest rate that the generator holds, and that rate.

    Where it holds none, the load at the first rate, and 0.
    """
    with reference_server(len(request)) as address, Generator(address, [request]) as generator:
        _sent(generator, FIRST_RATE, STEP_SECONDS / 4)
        held, rate = _sent(generator, FIRST_RATE, STEP_SECONDS), 0.0
        tried = FIRST_RATE
        load = held
        while tried <= LAST_RATE and _is_held(load[0], tried):
            held, rate = load, tried
            tried *= 2
            load = _sent(generator, tried, STEP_SECONDS)
    return held, rate


def _sent(generator: Generator, rate: float, seconds: float) -> tuple[list[Sent], float]:
    rows: list[Sent] = []
    cpu = time.process_time()
    generator.send(OpenLoop(constant_times(rate, seconds)), rows.append)
    return rows, time.process_time() - cpu


def _is_held(rows: Sequence[Sent], rate: float) -> bool:
    lateness = np.quantile([row.lateness_seconds for row in rows], 0.99)
    seconds = max(row.end for row in rows)
    # Answers that come later and later mean that the other end does not hold the rate.
    return bool(lateness <= HONEST_LATENESS_SECONDS and len(rows) / seconds > 0.9 * rate)


def _queue_load(request: bytes) -> tuple[list[float], list[float]]:
    """The expected wait of each request, and measured less expected latency."""
    rows: list[Sent] = []
    times = poisson_times(UTILIZATION / SERVICE_SECONDS, QUEUE_SECONDS, _SEED)
    with (
        reference_server(len(request), SERVICE_SECONDS) as address,
        Generator(address, [request]) as generator,
    ):
        generator.send(OpenLoop(times), rows.append)
    rows.sort(key=lambda row: row.number)
    waits = expected_waits((row.due for row in rows), SERVICE_SECONDS)
    errors = [
        row.latency_seconds - SERVICE_SECONDS - wait for row, wait in zip(rows, waits, strict=True)
    ]
    return waits, errors
