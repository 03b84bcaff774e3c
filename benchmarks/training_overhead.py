"""Training under Prumo, with a sampler every second, against the same loop bare.

Both train Rede 1 on as many images of the same size, in the same environment, turn by turn, so
that a machine that drifts treats both alike. Limit: at most 1 % slower, by the geometric mean of
the ratios of neighbours. Rented machines vary by far more than 1 % from one run to the next, so the
interval of that mean is told too, and the benchmark fails only when all of it is over the limit.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import prumo
from prumo.analyse.interval import mean_interval
from prumo.environment import ensure, find_framework
from prumo.machine.cpu import read_cpu

LIMIT = 1.01
PAIRS = 30
SETTINGS = {"image_size": 32, "batch_size": 64, "images": 2048, "epochs": 1, "warmup_steps": 3}


def main() -> int:
    python = ensure(find_framework("pytorch")).python
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(1, PAIRS + 1):
            under_prumo = prumo_seconds(Path(folder), pair)
            bare = bare_seconds(python)
            ratios.append(under_prumo / bare)
            print(f"pair {pair}: prumo {under_prumo:.2f} s, bare {bare:.2f} s", flush=True)
    logarithm = mean_interval([math.log(ratio) for ratio in ratios])
    spread = logarithm.half_width or 0.0
    ratio = math.exp(logarithm.mean)
    low, high = ratio * math.exp(-spread), ratio * math.exp(spread)
    print(f"training under Prumo takes {ratio:.3f} times the bare loop (limit {LIMIT})")
    print(f"95 % interval of {PAIRS} pairs: {low:.3f} to {high:.3f}")
    return int(low > LIMIT)


def prumo_seconds(folder: Path, replication: int) -> float:
    fixed = {name: value for name, value in SETTINGS.items() if name != "warmup_steps"}
    study = prumo.Study.from_dict(
        {
            "name": "overhead",
            "workload": {"kind": "training"},
            "factors": {"network": ["rede1"]},
            "fixed": fixed,
            "order": "listed",
            "measure": {"sample_seconds": 1.0, "warmup_steps": SETTINGS["warmup_steps"]},
        }
    )
    results = prumo.run(study, folder / "results", replications=replication, listener=silent)
    return float(results.runs()["train_seconds"][-1])


def silent(event: object) -> None:
    """Stay silent."""


def bare_seconds(python: Path) -> float:
    script = Path(__file__).parent / "bare_loop.py"
    settings = json.dumps(SETTINGS | {"threads": read_cpu().usable_cores})
    done = subprocess.run([python, script, settings], check=True, capture_output=True, text=True)
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
