"""What a report shows of requests, from run folders that are made for it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from prumo.results.folder import write_results
from prumo_endpoint.load.request_table import REQUESTS_FILE, RequestTable, figures
from prumo_endpoint.load.sent import Sent
from support.record_factory import run_record

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo

SIZES = {"1gb": 1024, "2gb": 2048, "3gb": 3072}
MEANS = {"1gb": 0.4, "2gb": 0.15, "3gb": 0.14}


def write_runs(
    path: Path,
    phases: dict[str, float] | None = None,
    count: int = 700,
    further: dict[str, float] | None = None,
) -> None:
    """Two runs at each of three memory sizes; a phase makes its requests slower by its factor."""
    study: dict[str, Any] = {
        "name": "asked",
        "workload": {"kind": "requests"},
        "factors": {"machine": list(SIZES)},
        "fixed": {"experiment": "real-time", "target": "url", "address": "http://localhost:1"},
        "machines": {name: {"price": f"sagemaker/serverless-{name}@us-east-1"} for name in SIZES},
        "cost": {"of": "inference", "metric": "billed_seconds"},
        "replications": 2,
    }
    generator = np.random.default_rng(1)
    records, tables = [], {}
    for number, name in enumerate(SIZES, start=1):
        for replication in (1, 2):
            run = f"C0{number}-r{replication}"
            tables[run] = _table(path.parent / f"{run}.csv", MEANS[name], phases, count, generator)
            levels = {"machine": name, "memory_mb": SIZES[name]}
            records.append(
                run_record(
                    run,
                    study="asked",
                    factors={"machine": name},
                    parameters=levels,
                    metrics=figures(tables[run].rows) | (further or {}),
                )
            )
    write_results(path, json.dumps(study), {}, records)
    for run in tables:
        (path.parent / f"{run}.csv").rename(path / "runs" / run / REQUESTS_FILE)


def _table(
    file: Path,
    mean: float,
    phases: dict[str, float] | None,
    count: int,
    generator: np.random.Generator,
) -> RequestTable:
    with RequestTable(file, [("a.jpg", 100)], starts_on_demand=True) as table:
        for place, (phase, factor) in enumerate((phases or {"counted": 1.0}).items()):
            table.write_all()
            table.phase = phase
            table.offset_seconds = place * count
            for number in range(count):
                due = float(number)
                end = due + factor * generator.gamma(20, mean / 20)
                body = b'{"boot_id": "%d"}' % (number // 100)
                table.record(Sent(number, 0, due, due, due, end, end, status=200, body=body))
    return table


def test_a_report_has_percentiles_figures_and_the_memory_that_is_cheapest(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    write_runs(tmp_path / "results")
    priced = prumo_here("reprice", "results")
    told = prumo_here("report", "results")

    assert priced.returncode == 0, priced.stderr
    assert told.returncode == 0, told.stderr
    assert "n < 662" not in told.stdout
    page = (tmp_path / "results" / "report.html").read_text()
    for figure in ("latency", "timeline", "tail", "memory"):
        assert f'id="{figure}-title"' in page
    assert "cold start" in page
    assert "Fastest with 3072 MB, cheapest with 2048 MB, balanced with 2048 MB" in page
    memory = page.partition('id="memory-title"')[2].partition("</svg>")[0]
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", memory)
    assert {"fastest", "cheapest", "balanced", "1,024", "2,048", "3,072"} <= {*texts}
    assert texts.count("0") == 2, "both axes start at zero"
    assert "role-legend" not in memory, "a single line needs no legend"


def test_a_percentile_without_enough_requests_is_not_shown(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    write_runs(tmp_path / "results", count=30)
    told = prumo_here("report", "results")
    document = json.loads(prumo_here("report", "results", "--json").stdout)

    # 60 requests of two runs are enough for the median alone.
    assert "n < 64" in told.stdout
    assert document["latency"]["C1"]["p50"] is not None
    assert document["latency"]["C1"]["p90"] is None


def test_requests_are_exported_with_their_run_and_its_levels(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    write_runs(tmp_path / "results", {"uncounted": 1, "counted": 1}, count=12)
    told = prumo_here("report", "results", "--format", "csv", "--format", "parquet", "--out", "out")

    assert told.returncode == 0, told.stderr
    frame = pl.read_parquet(tmp_path / "out" / "requests.parquet")
    assert frame.columns[:5] == ["run", "scenario", "verdict", "machine", "request"]
    assert frame.height == len(SIZES) * 2 * 24
    assert frame.group_by("run", "machine", "phase").len()["len"].to_list() == [12] * 12
    assert pl.read_csv(tmp_path / "out" / "requests.csv").height == frame.height


def test_a_ramp_shows_its_rates_and_the_latency_at_the_one_that_it_found(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    phases = {"rate=5": 1, "rate=10": 1.1, "rate=20": 30}
    write_runs(tmp_path / "results", phases, count=70, further={"highest_rate": 10.0})
    told = prumo_here("report", "results")
    document = json.loads(prumo_here("report", "results", "--json").stdout)

    assert told.returncode == 0, told.stderr
    page = (tmp_path / "results" / "report.html").read_text()
    assert 'id="rate-title"' in page
    assert "the highest rate that keeps the goal (1gb: 10/s; 2gb: 10/s; 3gb: 10/s)" in page
    assert document["latency"]["C1"]["p90"] < 2 * MEANS["1gb"]


def test_a_report_says_how_far_its_load_generator_can_be_trusted(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    measured = {
        "generator_lateness_p99_seconds": 0.0004,
        "generator_cpu_seconds_per_request": 0.0001,
        "generator_wait_error_seconds": 0.0002,
        "generator_honest_requests_per_second": 8000.0,
    }
    write_runs(tmp_path / "results", count=12, further=measured)
    told = prumo_here("report", "results")
    document = json.loads(prumo_here("report", "results", "--json").stdout)

    assert "at most 400.0 µs late (p99); it held 8,000 requests/s" in told.stdout
    assert "On a server with a known wait" in (tmp_path / "results" / "report.html").read_text()
    assert document["load_generator"]["wait_error_seconds"] == 0.0002


def test_a_generator_that_held_no_rate_held_less_than_the_first(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    slow = {
        "generator_lateness_p99_seconds": 0.004,
        "generator_cpu_seconds_per_request": 0.0001,
        "generator_wait_error_seconds": 0.0002,
        "generator_honest_requests_per_second": 0.0,
    }
    write_runs(tmp_path / "results", count=12, further=slow)

    assert "it held < 500 requests/s" in prumo_here("report", "results").stdout


def test_a_report_speaks_portuguese(prumo_here: Prumo, tmp_path: Path) -> None:
    write_runs(tmp_path / "results", count=70)
    told = prumo_here("report", "results", "--lang", "pt-BR")

    assert "Latência das requisições" in told.stdout
    assert "requisições insuficientes" in told.stdout
