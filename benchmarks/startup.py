"""How long commands take beside a Python that does nothing, each with its limit.

    python -m benchmarks.startup

Every command takes turns with `python -c pass`; the median of the ratios counts, so that a slow
machine slows both. The results folder has 24 runs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.analysis import write_results

PRUMO = str(Path(sys.executable).parent / "prumo")
NOTHING = [sys.executable, "-c", "pass"]
STUDY = str(Path(__file__).parent.parent / "studies" / "demo.yaml")
RUNS = 24
SAMPLES = 60 * RUNS
TURNS = 9

LIMITS = {
    "--version": 8.0,
    "--help": 14.0,
    "report --help": 12.0,
    "model package --help": 14.0,
    f"plan {STUDY}": 40.0,
    "compare RESULTS --factor batch_size": 120.0,
    "report RESULTS": 420.0,
}
"""Command → the most times `python -c pass` that it may take."""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        write_results(results, SAMPLES, RUNS)
        return max(judged(words, limit, results) for words, limit in LIMITS.items())


def judged(words: str, limit: float, results: Path) -> int:
    command = [PRUMO, *words.replace("RESULTS", str(results)).split()]
    seconds(command)
    turns = [(seconds(command), seconds(NOTHING)) for _ in range(TURNS)]
    ratio = median(one / other for one, other in turns)
    taken = median(one for one, _ in turns)
    shown = words.replace(STUDY, "studies/demo.yaml")
    print(f"prumo {shown}: {taken:.3f} s, {ratio:.1f} times `python -c pass` (limit {limit:g})")
    return int(ratio > limit)


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
