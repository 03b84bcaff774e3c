"""Analysing 240 runs with 10 million samples, against limits of time, memory and growth.

    python -m benchmarks.analysis

The folder of results is made here; what `prumo report` computes of it before it draws is timed in a
process of its own. The fastest of a few turns counts, since other programs can only add to a time.
Time may grow with the samples and no faster: twice as many take at most 2.2 times as long. Reading
every step of the runs may take no longer than all the rest.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from prumo.report.content import assemble
from prumo.report.language import english
from prumo.report.sections import SECTIONS
from prumo.results.tables import Results
from prumo.run.sampler import memory_bytes
from prumo.statistics.training import resources_of, usage_by_scenario

SECONDS_LIMIT = 10.0
MEMORY_LIMIT_BYTES = 1000**3
GROWTH_LIMIT = 2.2
STEPS_LIMIT = 1.0
SAMPLES = 10_000_000
SCENARIOS = 48
REPLICATIONS = 5
RUNS = SCENARIOS * REPLICATIONS
EPOCHS = 10
STEPS_PER_EPOCH = 500
TURNS = 3


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        half, whole = (Path(folder) / name for name in ("half", "whole"))
        write_results(half, SAMPLES // 2)
        write_results(whole, SAMPLES)
        turns = [(measured(half), measured(whole)) for _ in range(TURNS)]
    return judged(turns)


def judged(turns: list[tuple[dict[str, float], dict[str, float]]]) -> int:
    """Print what was measured with each limit; 1 when one is exceeded."""
    seconds = min(whole["seconds"] for _, whole in turns)
    memory = max(whole["memory_bytes"] for _, whole in turns)
    growth = seconds / min(half["seconds"] for half, _ in turns)
    steps = min(whole["steps_seconds"] for _, whole in turns) / seconds
    print(f"{RUNS} runs, {SAMPLES:,} samples, {RUNS * EPOCHS * STEPS_PER_EPOCH:,} steps")
    print(f"time    {seconds:.2f} s (limit {SECONDS_LIMIT:.0f} s)")
    print(f"        {seconds / SAMPLES * 1e6:.3f} s per million samples")
    print(f"memory  {memory / 1e6:.0f} MB (limit {MEMORY_LIMIT_BYTES / 1e6:.0f} MB)")
    print(f"growth  {growth:.2f} times the time for twice the samples (limit {GROWTH_LIMIT})")
    print(f"steps   {steps:.2f} of that time to read them all (limit {STEPS_LIMIT})")
    return int(
        seconds > SECONDS_LIMIT
        or memory > MEMORY_LIMIT_BYTES
        or growth > GROWTH_LIMIT
        or steps > STEPS_LIMIT
    )


def measured(folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.analysis", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def analysed(folder: Path) -> dict[str, float]:
    """Compute everything that a report says and draws."""
    began = time.perf_counter()
    results = Results(folder)
    report = assemble(results, (), 0.95)
    sections = {
        section.name: section.of(results, report).document(english()) for section in SECTIONS
    }
    assert sections["batch"]["scaling"]
    assert sections["loss"]["convergence"]
    over_time = results.usage_over_time()
    resources = {str(name): columns for name, columns in resources_of(over_time.columns).items()}
    usage_by_scenario(over_time, report.runs, resources)
    seconds = time.perf_counter() - began
    memory = memory_bytes()
    began = time.perf_counter()
    assert results.steps().collect(engine="streaming").height == RUNS * EPOCHS * STEPS_PER_EPOCH
    steps_seconds = time.perf_counter() - began
    return {"seconds": seconds, "memory_bytes": memory, "steps_seconds": steps_seconds}


def write_results(folder: Path, samples: int, runs: int | None = None) -> None:
    """Run folders as a study of 48 scenarios in 5 replications leaves them."""
    noise = np.random.default_rng(1)
    runs = RUNS if runs is None else runs
    for number in range(runs):
        scenario, replication = number // REPLICATIONS + 1, number % REPLICATIONS + 1
        run = folder / "runs" / f"C{scenario:02d}-r{replication}"
        run.mkdir(parents=True)
        samples_of(samples // runs, noise).write_csv(run / "samples.csv", float_precision=3)
        (run / "events.jsonl").write_text(events_of(noise))
        record = record_of(run.name, scenario, replication, number, noise)
        (run / "run.json").write_text(json.dumps(record))


def samples_of(rows: int, noise: np.random.Generator) -> pl.DataFrame:
    percentages = ("cpu", "tree_cpu", "memory", "steal")
    pressures = ("pressure_cpu", "pressure_memory", "pressure_io")
    seconds = 0.1 * np.arange(rows)
    return pl.DataFrame(
        {
            "time": 1.7e9 + seconds,
            "seconds": seconds,
            **{f"{name}_percent": noise.normal(50, 5, rows) for name in percentages},
            "tree_rss_bytes": noise.integers(10**9, 2 * 10**9, rows),
            "swap_bytes": np.zeros(rows, dtype=np.int64),
            **{f"{name}_percent": noise.normal(2, 0.1, rows) for name in pressures},
        }
    )


def events_of(noise: np.random.Generator) -> str:
    steps = EPOCHS * STEPS_PER_EPOCH
    epoch = np.repeat(np.arange(1, EPOCHS + 1), STEPS_PER_EPOCH)
    table = pl.DataFrame({"event": ["step"] * steps, "time": [1.7e9] * steps, "epoch": epoch})
    spans = {f"{name}seconds": noise.random(steps) for name in ("", "data_", "compute_")}
    loss = 2.3 * np.exp(-np.arange(steps) / steps) + 0.1 * noise.random(steps)
    stepped = table.with_columns(
        step=pl.Series(np.tile(np.arange(1, STEPS_PER_EPOCH + 1), EPOCHS)),
        **{name: pl.Series(values) for name, values in spans.items()},
        images=pl.lit(128),
        loss=pl.Series(loss),
    )
    ended = stepped.group_by("epoch", maintain_order=True).agg(
        pl.lit("epoch").alias("event"), pl.col("seconds").sum(), pl.col("loss").mean()
    )
    return stepped.write_ndjson() + ended.write_ndjson()


def record_of(
    run: str, scenario: int, replication: int, order: int, noise: np.random.Generator
) -> dict[str, Any]:
    batch_size = 2 ** (scenario // 3 % 16)
    factors = {"framework": "abc"[scenario % 3], "batch_size": batch_size}
    seconds = 1000 * batch_size**-0.5 * float(noise.normal(1, 0.02))
    return {
        "run": run,
        "scenario": f"C{scenario}",
        "replication": replication,
        "study": "analysis",
        "factors": factors,
        "parameters": factors,
        "fingerprint": f"{scenario:08x}",
        "verdict": "finished",
        "order": order,
        "wall_seconds": seconds + 3.1,
        "metrics": {"train_seconds": seconds, "images_per_second": 1e6 / seconds},
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(analysed(Path(sys.argv[1]))))
    else:
        sys.exit(main())
