"""What the sampler costs beside a busy process tree, against its limits.

    python benchmarks/sampler_cost.py [SECONDS]

Exits with 1 when the sampler takes more than its share of a core or of memory.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CORE_PERCENT_LIMIT = 0.5
MEMORY_LIMIT_BYTES = 40 * 1000**2
PERIOD_SECONDS = 1.0
PROCESSES = 8
THREADS = 8

# A trainer with data loaders: processes of many threads each, of which two keep a core busy.
TREE = f"""
import os, threading, time
for number in range({PROCESSES}):
    if os.fork() == 0:
        for _ in range({THREADS} - 1):
            threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
        print("up", flush=True)
        while number < 2:
            sum(range(1_000_000))
        time.sleep(3600)
time.sleep(3600)
"""


def main(seconds: float = 20.0) -> int:
    with tempfile.TemporaryDirectory() as folder:
        tree = subprocess.Popen(
            [sys.executable, "-c", TREE], stdout=subprocess.PIPE, start_new_session=True
        )
        try:
            for _ in range(PROCESSES):
                assert tree.stdout is not None
                tree.stdout.readline()
            report, wall_seconds = _sample(tree.pid, Path(folder) / "samples.csv", seconds)
        finally:
            os.killpg(tree.pid, signal.SIGKILL)
            tree.wait()
    return _judge(report, wall_seconds)


def _sample(root: int, path: Path, seconds: float) -> tuple[dict[str, float], float]:
    command = [sys.executable, "-m", "prumo.run.sampler", str(path), str(root)]
    start = time.monotonic()
    sampler = subprocess.Popen(
        [*command, str(PERIOD_SECONDS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    time.sleep(seconds)
    output, _ = sampler.communicate()
    report: dict[str, float] = json.loads(output)
    return report, time.monotonic() - start


def _judge(report: dict[str, float], wall_seconds: float) -> int:
    core_percent = 100.0 * report["cpu_seconds"] / wall_seconds
    memory_bytes = report["memory_bytes"]
    print(f"{PROCESSES} processes of {THREADS} threads, a sample every {PERIOD_SECONDS} s")
    print(f"samples    {report['samples']:.0f} in {wall_seconds:.1f} s, {report['late']:.0f} late")
    print(f"processor  {core_percent:.3f} % of a core (limit {CORE_PERCENT_LIMIT} %)")
    print(f"memory     {memory_bytes / 1e6:.1f} MB (limit {MEMORY_LIMIT_BYTES / 1e6:.0f} MB)")
    print(f"start      {report['total_cpu_seconds'] - report['cpu_seconds']:.3f} s once")
    return int(core_percent > CORE_PERCENT_LIMIT or memory_bytes > MEMORY_LIMIT_BYTES)


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:2])))
