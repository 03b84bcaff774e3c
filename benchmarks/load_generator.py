"""How late the load generator sends, the highest rate that it holds, and wrk beside it.

    python -m benchmarks.load_generator

The generator has one core, and a server that answers at once another. Open loops of 2,000 requests
a second show how late it sends. The highest rate is the last of a rising series at which, in most
turns, 99 of 100 requests are at most 1 ms late and the answers keep up. In closed loops of
equally many connections wrk, which is written in C, asks the same server by turns: the difference
of the medians is what the generator adds to a latency. What has a limit is the median of all turns.
Without wrk that part is left out, which fails with `CI=true`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prumo_endpoint.load.calibration import HONEST_LATENESS_SECONDS
from prumo_endpoint.load.generator import Generator
from prumo_endpoint.load.reference_server import reference_server
from prumo_endpoint.load.schedule import ClosedLoop, OpenLoop, constant_times
from prumo_endpoint.load.sent import Outcome, Sent, prepared_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_endpoint.exchange import Address
    from prumo_endpoint.load.schedule import Schedule

LATENESS_P50_LIMIT_SECONDS = 0.0002
LATENESS_P99_LIMIT_SECONDS = 0.001
ADDED_LIMIT_SECONDS = 0.0002
RATE = 2000.0
RATES = (4e3, 6e3, 8e3, 1e4, 1.2e4, 1.4e4, 1.6e4, 1.8e4, 2e4, 2.4e4, 2.8e4, 3.2e4)
CONNECTIONS = (1, 8)
TURNS = 5
SECONDS = 1.0
BODY_BYTES = 20_000
"""About a photograph of 224 x 224 pixels."""
WRK_SCRIPT = f"""
wrk.method = "POST"
wrk.headers["Content-Type"] = "image/jpeg"
wrk.body = string.rep("x", {BODY_BYTES})
done = function(summary, latency) io.stderr:write(latency:percentile(50), "\\n") end
"""


class Load(NamedTuple):
    """Open loops at one rate."""

    rate: float
    lateness_p50_seconds: float
    """Median of the turns, as the following."""
    lateness_p99_seconds: float
    is_held: bool
    """By the generator, and by the server behind it, in more than half of the turns."""


Pairs = dict[int, list[tuple[float, float]]]
"""Connections → median latencies of wrk and of the generator, in seconds."""


def main() -> int:
    with server_on_another_core() as address:
        loads = [load(address, RATE)]
        for rate in RATES:
            if not loads[-1].is_held:
                break
            loads.append(load(address, rate))
        return judged(loads, beside_wrk(address))


def judged(loads: list[Load], pairs: Pairs) -> int:
    """Print what was measured with each limit; 1 when one is exceeded."""
    first = loads[0]
    late = 1000 * first.lateness_p50_seconds, 1000 * first.lateness_p99_seconds
    highest = max((each.rate for each in loads if each.is_held), default=0.0)
    print(
        f"load generator on one core at {first.rate:,.0f} requests/s: late by {late[0]:.3f} ms in "
        f"the median (limit {1000 * LATENESS_P50_LIMIT_SECONDS:g}), {late[1]:.3f} ms at p99 "
        f"(limit {1000 * LATENESS_P99_LIMIT_SECONDS:g}); it holds {highest:,.0f} requests/s"
    )
    is_missed = (
        first.lateness_p50_seconds > LATENESS_P50_LIMIT_SECONDS
        or first.lateness_p99_seconds > LATENESS_P99_LIMIT_SECONDS
    )
    for connections, latencies in pairs.items():
        theirs, ours = (1000 * median(values) for values in zip(*latencies, strict=True))
        added = median(ours - theirs for theirs, ours in latencies)
        is_missed |= added > ADDED_LIMIT_SECONDS
        print(
            f"{connections} connections: p50 {ours:.3f} ms, wrk {theirs:.3f} ms; "
            f"{1000 * added:+.3f} ms (limit {1000 * ADDED_LIMIT_SECONDS:g})"
        )
    if not pairs:
        print("wrk is not installed: not compared with it")
    return int(is_missed or (not pairs and os.environ.get("CI") == "true"))


@contextmanager
def server_on_another_core() -> Iterator[Address]:
    """A server that answers at once; this process has another core than it, where there are two."""
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {max(cores)})
        # It answers every packet: a request of this size is one.
        with reference_server(1) as address:
            os.sched_setaffinity(0, {min(cores)})
            yield address
    finally:
        os.sched_setaffinity(0, cores)


def load(address: Address, rate: float) -> Load:
    turns = []
    for _ in range(TURNS):
        rows = asked(address, OpenLoop(constant_times(rate, SECONDS)))
        late = np.quantile([row.lateness_seconds for row in rows], [0.5, 0.99])
        keeps_up = len(rows) / max(row.end for row in rows) > 0.9 * rate
        turns.append((*late.tolist(), keeps_up and late[1] <= HONEST_LATENESS_SECONDS))
    middle, slow, is_held = zip(*turns, strict=True)
    return Load(rate, median(middle), median(slow), 2 * sum(is_held) > TURNS)


def beside_wrk(address: Address) -> Pairs:
    """Closed loops of wrk and of the generator, by turns; empty without wrk."""
    if shutil.which("wrk") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "photograph.lua"
        script.write_text(WRK_SCRIPT, encoding="utf-8")
        return {
            connections: [
                (wrk_p50(address, connections, script), generator_p50(address, connections))
                for _ in range(TURNS)
            ]
            for connections in CONNECTIONS
        }


def wrk_p50(address: Address, connections: int, script: Path) -> float:
    words = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(SECONDS))}s", "-s", str(script)]
    url = f"http://{address.authority}/invocations"
    done = subprocess.run([*words, url], capture_output=True, text=True, check=True)
    return float(done.stderr) / 1e6


def generator_p50(address: Address, connections: int) -> float:
    rows = asked(address, ClosedLoop(connections, seconds=SECONDS), connections)
    return median(row.latency_seconds for row in rows)


def asked(address: Address, schedule: Schedule, connections: int = 1000) -> list[Sent]:
    """All requests of a schedule, answered."""
    request = prepared_request(address, b"x" * BODY_BYTES, "image/jpeg")
    rows: list[Sent] = []
    with Generator(address, [request], connections=connections) as generator:
        generator.send(ClosedLoop(requests=100), lambda _: None)
        generator.send(schedule, rows.append)
    assert all(row.outcome is Outcome.ANSWERED for row in rows)
    return rows


if __name__ == "__main__":
    sys.exit(main())
