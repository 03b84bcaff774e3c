"""Ten million calls through all keep-warm policies, against limits of time, memory and growth.

    python -m benchmarks.keep_warm

The traces are made here: two weeks in which half of the calls follow the time of day and half come
in bursts. `prumo endpoint keep-warm` reads and simulates them in a process of its own, pricing
and intervals included; the fastest of a few turns counts, since other programs can only add to a
time. Twice as many calls take at most 2.2 times the processor's time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

SECONDS_LIMIT = 60.0
MEMORY_LIMIT_BYTES = 1000**3
GROWTH_LIMIT = 2.2
CALLS = 10_000_000
DAYS = 14
CALLS_PER_BURST = 500
TURNS = 2
COLD_SECONDS, WARM_SECONDS = 12.5, 0.36


@dataclass(frozen=True)
class Turn:
    """One tournament."""

    seconds: float
    cpu_seconds: float
    memory_bytes: int
    policies: int


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        half, whole = Path(folder) / "half.csv", Path(folder) / "whole.csv"
        write_trace(half, CALLS // 2)
        write_trace(whole, CALLS)
        turns = [(tournament(half), tournament(whole)) for _ in range(TURNS)]
    return judged(turns)


def judged(turns: list[tuple[Turn, Turn]]) -> int:
    """Print what was measured with each limit; 1 when one is exceeded."""
    seconds = min(whole.seconds for _, whole in turns)
    memory = max(whole.memory_bytes for _, whole in turns)
    cpu_seconds = min(whole.cpu_seconds for _, whole in turns)
    growth = cpu_seconds / min(half.cpu_seconds for half, _ in turns)
    policies = turns[0][1].policies
    print(f"keep-warm: {CALLS:,} calls through {policies} policies")
    print(
        f"time    {seconds:.1f} s (limit {SECONDS_LIMIT:.0f} s), reading included; "
        f"{cpu_seconds:.1f} s of a processor"
    )
    print(f"memory  {memory / 1e6:.0f} MB (limit {MEMORY_LIMIT_BYTES / 1e6:.0f} MB)")
    print(f"growth  {growth:.2f} times for twice the calls (limit {GROWTH_LIMIT})")
    return int(seconds > SECONDS_LIMIT or memory > MEMORY_LIMIT_BYTES or growth > GROWTH_LIMIT)


def write_trace(file: Path, calls: int) -> None:
    """Half of the calls by the time of day, half in bursts of a minute or two."""
    noise = np.random.default_rng(1)
    daily = calls // 2
    hours = np.clip(noise.normal(13, 3, daily), 0, 23.99)
    by_day = 86_400.0 * noise.integers(0, DAYS, daily) + 3600.0 * hours
    begins = 86_400.0 * DAYS * noise.random(-(-(calls - daily) // CALLS_PER_BURST))
    bursts = np.repeat(begins, CALLS_PER_BURST)[: calls - daily]
    bursts = bursts + noise.exponential(60, len(bursts))
    times = np.sort(np.concatenate([by_day, bursts]))
    pl.DataFrame({"arrival_seconds": times}).write_csv(file)


def tournament(trace: Path) -> Turn:
    """What the command needs for all policies."""
    words = ["endpoint", "keep-warm", str(trace), "--json", "--provisioned-price", "0.00001"]
    words += ["--cold", str(COLD_SECONDS), "--warm", str(WARM_SECONDS)]
    began = time.perf_counter()
    with subprocess.Popen(
        [str(Path(sys.executable).parent / "prumo"), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout
        document = json.load(process.stdout)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    seconds = time.perf_counter() - began
    return Turn(
        seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, len(document["policies"])
    )


if __name__ == "__main__":
    sys.exit(main())
