"""Samples do not come at equal distances, so their means are means over time."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prumo.results.samples import scan_samples, usage_per_run

if TYPE_CHECKING:
    from pathlib import Path

Row = tuple[float, float]
"""How long a row covers, and what it says."""

ROWS = st.lists(st.tuples(st.floats(0.01, 100), st.floats(0, 100)), min_size=1, max_size=30)


@given(runs=st.lists(ROWS, min_size=1, max_size=3))
def test_a_mean_weighs_every_row_by_the_time_that_it_covers(runs: list[list[Row]]) -> None:
    tables = {f"C{number:02d}-r1": rows for number, rows in enumerate(runs, start=1)}

    for run, mean in _means(tables).items():
        spans, values = zip(*tables[run], strict=True)
        area = sum(span * value for span, value in zip(spans, values, strict=True))
        assert mean == pytest.approx(area / sum(spans), rel=1e-6, abs=1e-6)


@given(rows=ROWS, place=st.integers(0, 29), share=st.floats(0.1, 0.9))
def test_a_mean_does_not_depend_on_where_the_rows_were_cut(
    rows: list[Row], place: int, share: float
) -> None:
    place %= len(rows)
    span, value = rows[place]
    halves = [(share * span, value), ((1 - share) * span, value)]
    cut = [*rows[:place], *halves, *rows[place + 1 :]]

    means = _means({"C01-r1": rows, "C02-r1": cut})

    assert means["C01-r1"] == pytest.approx(means["C02-r1"], rel=1e-6, abs=1e-6)


def test_a_short_last_row_counts_little(tmp_path: Path) -> None:
    (tmp_path / "samples.csv").write_text(
        "time,seconds,cpu_percent\n0,0,\n10,10,80\n20,20,80\n21,21,17\n"
    )

    assert _usage(tmp_path) == pytest.approx((80 * 20 + 17) / 21)


def test_an_empty_cell_takes_its_time_out_of_the_mean(tmp_path: Path) -> None:
    (tmp_path / "samples.csv").write_text(
        "time,seconds,cpu_percent\n0,0,\n10,10,80\n20,20,\n25,25,20\n"
    )

    assert _usage(tmp_path) == pytest.approx((80 * 10 + 20 * 5) / 15)


def test_a_single_sample_is_its_own_mean(tmp_path: Path) -> None:
    (tmp_path / "samples.csv").write_text("time,seconds,cpu_percent\n0,0,55\n")

    assert _usage(tmp_path) == 55


def _means(tables: dict[str, list[Row]]) -> dict[str, float]:
    samples = pl.concat(
        pl.LazyFrame(
            {
                "run": [run] * (len(rows) + 1),
                "seconds": [0.0, *accumulate(span for span, _ in rows)],
                "cpu_percent": [None, *(value for _, value in rows)],
            },
            {"run": pl.String, "seconds": pl.Float64, "cpu_percent": pl.Float64},
        )
        for run, rows in tables.items()
    )
    usage = usage_per_run(samples)
    return dict(zip(usage["run"], usage["cpu_percent_mean"], strict=True))


def _usage(path: Path) -> float:
    mean: float = usage_per_run(scan_samples([path]))["cpu_percent_mean"].item()
    return mean
