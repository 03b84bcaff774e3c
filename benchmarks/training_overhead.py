"""For each framework: images per second under Prumo against a plain loop written by hand.

    python -m benchmarks.training_overhead [FRAMEWORK...]

Both train Rede 1 on the same data with the same settings. A rented machine varies by ten times the
1 % that is looked for from one process to the next, so both run in one process, an epoch each in
turn, with a sampler every second that is stopped while the plain one runs. Fails when the median of
the ratios of neighbours is below the limit, and with `CI=true` when a framework is not measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from scipy.stats import bootstrap

from prumo.environments.frameworks import FRAMEWORKS, find_framework
from prumo.environments.setup import ensure
from prumo.environments.store import worker_path
from prumo.errors import UnavailableError
from prumo.machine.cpu import read_cpu
from prumo.run.measurement import SamplerProcess
from prumo.run.worker import clean_environment, thread_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    Pairs = Sequence[tuple[float, float]]


class Demand(NamedTuple):
    """How near to the plain loop, and how many pairs of epochs it takes to see that."""

    limit: float
    pairs: int


DEMAND = Demand(limit=0.98, pairs=60)
# At most 1 % more time.
SPECIAL_DEMANDS = {"pytorch": Demand(limit=1 / 1.01, pairs=150)}


def main(*names: str) -> int:
    return max([measured(name) for name in names or FRAMEWORKS])


def measured(name: str) -> int:
    try:
        request = find_framework(name)
        python = ensure(request).python
    except UnavailableError as reason:
        print(f"{name}: not measured: {reason}")
        return int(os.environ.get("CI") == "true")
    demand = SPECIAL_DEMANDS.get(request.framework.name, DEMAND)
    with tempfile.TemporaryDirectory() as folder:
        pairs = alternate(python, Path(folder), name, demand.pairs)
    return judged(name, pairs, demand.limit)


def judged(name: str, pairs: Pairs, limit: float) -> int:
    """Print the median and its interval; 1 when it is below the limit."""
    ratios = [plain / prumo for prumo, plain in pairs]
    middle = median(ratios)
    interval = bootstrap((ratios,), median, rng=1).confidence_interval
    print(
        f"{name}: {middle:.4f} of the plain loop's images per second, 95 % interval "
        f"{interval.low:.4f} to {interval.high:.4f} of {len(pairs)} pairs (limit {limit:.4f})"
    )
    return int(middle < limit)


def alternate(python: Path, folder: Path, framework: str, pairs: int) -> Pairs:
    """Seconds of an epoch under Prumo and of a plain one, in pairs."""
    script = Path(__file__).with_name("alternating_loops.py")
    threads = read_cpu().usable_cores
    settings = {
        "pairs": pairs,
        "threads": threads,
        "parameters": {
            "framework": framework,
            "network": "rede1",
            "dataset": "generated",
            "image_size": 32,
            "batch_size": 64,
            "images": 512,
        },
    }
    variables = thread_environment(threads) | {"PYTHONPATH": str(worker_path())}
    with SamplerProcess(folder / "samples.csv", os.getpid(), 1.0) as sampler:
        done = subprocess.run(
            [python, script, json.dumps(settings), folder / "events.jsonl", str(sampler.pid)],
            env=clean_environment() | variables,
            check=True,
            capture_output=True,
            text=True,
        )
    taken: Pairs = json.loads(done.stdout.splitlines()[-1])
    return taken


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
