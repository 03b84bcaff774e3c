"""Training under Prumo, with a sampler every second, against the same loop bare.

A rented machine varies by ten times the 1 % that is looked for from one process to the next, so
both loops run in one process, an epoch each in turn, and the sampler is stopped while the bare one
runs. Limit: at most 1 % slower, by the median of the ratios of neighbours; the benchmark fails when
the whole interval of that median is over the limit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from scipy.stats import bootstrap

from prumo.environment import ensure, find_framework, worker_path
from prumo.machine.cpu import read_cpu
from prumo.measure.sampling import SamplerProcess

LIMIT = 1.01
SETTINGS = {
    "pairs": 150,
    "threads": read_cpu().usable_cores,
    "parameters": {
        "framework": "pytorch",
        "network": "rede1",
        "dataset": "generated",
        "image_size": 32,
        "batch_size": 64,
        "images": 512,
    },
}


def main() -> int:
    python = ensure(find_framework("pytorch")).python
    with tempfile.TemporaryDirectory() as folder:
        pairs = alternate(python, Path(folder))
    ratios = [with_prumo / without for with_prumo, without in pairs]
    ratio = median(ratios)
    interval = bootstrap((ratios,), median, rng=1).confidence_interval
    print(f"training under Prumo takes {ratio:.4f} times the bare loop (limit {LIMIT})")
    print(f"95 % interval of {len(pairs)} pairs: {interval.low:.4f} to {interval.high:.4f}")
    return int(interval.low > LIMIT)


def alternate(python: Path, folder: Path) -> list[tuple[float, float]]:
    script = Path(__file__).parent / "alternating_loops.py"
    with SamplerProcess(folder / "samples.csv", os.getpid(), 1.0) as sampler:
        done = subprocess.run(
            [python, script, json.dumps(SETTINGS), folder / "events.jsonl", str(sampler.pid)],
            env=os.environ | {"PYTHONPATH": str(worker_path())},
            check=True,
            capture_output=True,
            text=True,
        )
    pairs: list[tuple[float, float]] = json.loads(done.stdout)
    return pairs


if __name__ == "__main__":
    sys.exit(main())
