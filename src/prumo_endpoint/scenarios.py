"""The scenarios of requests: in which order and at which times an endpoint is asked."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo_endpoint.keep_warm.live import KeptWarm, policy_named, predicted_cold_calls
from prumo_endpoint.keep_warm.times import AnswerTimes
from prumo_endpoint.load.request_table import (
    PING,
    UNCOUNTED,
    percentile,
    ramp_phase,
    requests_needed,
)
from prumo_endpoint.load.schedule import (
    ClosedLoop,
    OpenLoop,
    burst_times,
    constant_times,
    poisson_times,
)
from prumo_endpoint.traces import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from prumo.progress import Progress
    from prumo_endpoint.load.generator import Generator
    from prumo_endpoint.load.request_table import RequestTable, Row
    from prumo_endpoint.load.schedule import Schedule
    from prumo_endpoint.load.sent import Sent
    from prumo_endpoint.targets import Server

REQUESTS = 25
COLD_STARTS = 10
_RAMP_FACTOR = 1.5
_RAMP_PRECISION = 1.05
_FIRST_RATE = 1.0
_LONGEST_STEP = 10
"""How much longer than asked for a rate may be held, where it is low."""


@dataclass
class Load:
    """Everything that a scenario uses: who sends, who writes down, and what is asked for."""

    generator: Generator
    table: RequestTable
    server: Server
    parameters: Mapping[str, Any]
    progress: Progress
    began: float
    """On the clock of the generator."""
    stop: Callable[[], bool]

    def send(self, schedule: Schedule, phase: str) -> list[Row]:
        """Send by a schedule; the rows that came of it."""
        first = len(self.table.rows)

        def record(sent: Sent) -> None:
            is_ping = isinstance(schedule, KeptWarm) and schedule.is_ping[sent.number - first]
            self.table.phase = PING if is_ping else phase
            self.table.record(sent)

        self.table.offset_seconds = time.perf_counter() - self.began
        self.generator.send(schedule, record, in_pause=self.table.write_some, stop=self.stop)
        self.table.write_all()
        return self.table.rows[first:]


def run_scenario(load: Load) -> dict[str, float]:
    """Carry out the scenario; figures beside those that follow from the requests themselves."""
    experiment, uncounted = load.parameters["experiment"], load.parameters["uncounted"]
    if uncounted is None:
        uncounted = 1 if experiment == "warm-up" else 0
    if uncounted:
        interval = load.parameters["interval_seconds"]
        load.send(ClosedLoop(1, interval, requests=uncounted), UNCOUNTED)
        time.sleep(interval)
    return SCENARIOS[experiment](load)


def _sequence(load: Load) -> dict[str, float]:
    """One request after the other, with a pause after each answer."""
    interval = load.parameters["interval_seconds"]
    load.send(ClosedLoop(1, interval, requests=load.parameters["requests"] or REQUESTS), "counted")
    return {}


def _cold_start(load: Load) -> dict[str, float]:
    """Single requests, each to an endpoint without a running instance."""
    starts = load.parameters["requests"] or COLD_STARTS
    if load.table.is_first_boot_unknown:
        # Only another boot id than this one proves that an instance was started.
        load.send(OpenLoop([0.0]), UNCOUNTED)
    for start in range(starts):
        if load.stop():
            break
        load.progress.show("cold starts", f"{start + 1} of {starts}")
        if load.server.instances is not None and load.parameters["force_stop"]:
            load.server.instances.stop_idle()
        else:
            _wait(load, load.parameters["idle_seconds"])
        load.send(OpenLoop([0.0]), "counted")
    return {}


def _wait(load: Load, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (remaining := end - time.monotonic()) > 0 and not load.stop():
        time.sleep(min(1.0, remaining))


def _closed_loop(load: Load) -> dict[str, float]:
    schedule = ClosedLoop(
        load.parameters["users"],
        requests=load.parameters["requests"],
        seconds=load.parameters["seconds"],
    )
    load.send(schedule, "counted")
    return {}


def _open_loop(load: Load) -> dict[str, float]:
    values = load.parameters
    load.send(OpenLoop(_arrivals(load, values["rate"], values["seconds"])), "counted")
    return {"offered_per_second": load.parameters["rate"]}


def _burst(load: Load) -> dict[str, float]:
    values = load.parameters
    times = burst_times(values["burst_size"], values["bursts"], values["interval_seconds"])
    load.send(OpenLoop(times), "counted")
    return {}


def _trace(load: Load) -> dict[str, float]:
    values = load.parameters
    speed = values["trace_speed"]
    trace = Trace(Path(values["trace"]), speed_up=speed, seed=values["seed"])
    if values["keep_warm"] is None:
        load.send(OpenLoop(trace), "counted")
        return {}
    arrivals = replace(trace, speed_up=1.0).arrivals()
    policy, idle = policy_named(values["keep_warm"]), values["idle_timeout_seconds"]
    rows = load.send(KeptWarm(arrivals, policy, idle, speed), "counted")
    seconds = {
        is_cold: [each.service_seconds for each in rows if each.is_cold is is_cold]
        for is_cold in (True, False)
    }
    if not seconds[True]:
        # An endpoint that does not say what is cold, or was warm all the time.
        return {}
    times = AnswerTimes(seconds[True], seconds[False] or seconds[True])
    cold = predicted_cold_calls(arrivals, policy, times, idle, speed)
    return {"predicted_cold_answers": cold}


def _ramp(load: Load) -> dict[str, float]:
    """Raise the rate until the goal is missed, then halve the distance between good and bad."""
    values = load.parameters
    rate = values["rate"] or _FIRST_RATE
    # Below it, the requests that the percentile needs would take too long.
    lowest = requests_needed(values["goal_share"]) / (_LONGEST_STEP * values["seconds"])
    good, bad = 0.0, None
    while (bad is None or bad > good * _RAMP_PRECISION) and not load.stop():
        load.progress.show("highest rate that keeps the goal", f"{rate:.3g} requests/s")
        if _keeps_goal(load, rate):
            good = rate
        else:
            bad = rate
        if bad is None:
            rate = good * _RAMP_FACTOR
        elif good:
            rate = (good * bad) ** 0.5
        elif bad / 4 < lowest:
            break
        else:
            rate = bad / 4
    return {"highest_rate": good}


def _keeps_goal(load: Load, rate: float) -> bool:
    values = load.parameters
    share, goal = values["goal_share"], values["goal_seconds"]
    # A percentile needs its number of requests, however low the rate is.
    count = max(requests_needed(share), math.ceil(rate * values["seconds"]))
    arrivals = islice(_arrivals(load, rate, math.inf), count)
    rows = load.send(OpenLoop(arrivals), ramp_phase(rate))
    latencies = [row.latency_seconds if row.is_answered else math.inf for row in rows]
    seen = percentile(latencies, share)
    return seen is not None and seen <= goal


def _arrivals(load: Load, rate: float, seconds: float) -> Iterator[float]:
    if load.parameters["arrivals"] == "constant":
        return constant_times(rate, seconds)
    return poisson_times(rate, seconds, load.parameters["seed"])


SCENARIOS: dict[str, Callable[[Load], dict[str, float]]] = {
    "warm-up": _sequence,
    "real-time": _sequence,
    "cold-start": _cold_start,
    "closed-loop": _closed_loop,
    "open-loop": _open_loop,
    "ramp": _ramp,
    "burst": _burst,
    "trace": _trace,
}
