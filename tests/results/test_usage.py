"""Samples do not come at equal distances, so their means are means over time."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prumo.errors import InputError
from prumo.results import run_files
from prumo.results.run_files import SPANS, read_usage, usage_of_run

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


@pytest.mark.parametrize("text", ["", "time,sec", "time,seconds,cpu_percent\n"])
def test_a_sampler_that_was_killed_at_once_leaves_no_usage(tmp_path: Path, text: str) -> None:
    (tmp_path / "samples.csv").write_text(text)

    usage = read_usage([tmp_path])

    assert usage.over_time.is_empty()
    assert not any(value for row in usage.per_run.drop("run").rows() for value in row)


@pytest.mark.parametrize("header", ["time,cpu_percent", "time,seconds,seconds"])
def test_a_table_that_no_sampler_wrote_is_named(tmp_path: Path, header: str) -> None:
    (tmp_path / "samples.csv").write_text(f"{header}\n1,2,3\n")

    with pytest.raises(InputError, match=r"samples\.csv: no table of samples"):
        read_usage([tmp_path])


def test_a_sampler_whose_clock_went_back_has_the_same_spans(tmp_path: Path) -> None:
    (tmp_path / "samples.csv").write_text("time,seconds,cpu_percent\n0,0,1\n9,60,5\n5,30,3\n")

    spans = read_usage([tmp_path]).over_time

    assert spans.select("span", "cpu_percent").rows() == [(0, 1.0), (30, 3.0), (SPANS - 1, 5.0)]


def test_a_single_sample_is_its_own_mean(tmp_path: Path) -> None:
    (tmp_path / "samples.csv").write_text("time,seconds,cpu_percent\n0,0,55\n")

    assert _usage(tmp_path) == 55


def test_the_time_of_a_run_is_cut_into_equal_spans(tmp_path: Path) -> None:
    rows = "".join(f"{second},{second},{second % 2}\n" for second in range(601))
    (tmp_path / "samples.csv").write_text("time,seconds,cpu_percent\n" + rows)

    spans = read_usage([tmp_path]).over_time

    assert spans["span"].to_list() == list(range(SPANS))
    assert spans["samples"].to_list() == [10] * (SPANS - 1) + [11]
    assert spans["cpu_percent"][0] == pytest.approx(0.5)
    assert spans["seconds"][1] == pytest.approx(14.5)


def test_half_a_row_and_an_empty_file_cost_no_whole_rows(tmp_path: Path) -> None:
    for name, text in {
        "C01-r1": "time,seconds,cpu_percent\n0,0,\n10,10,80\n20,2",
        "C02-r1": "time,seconds,cpu_percent\n",
        "C03-r1": "",
        "C04-r1": "time,seconds,gpu0_percent\n0,0,7\n1,1,9\n",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "samples.csv").write_text(text)

    usage = read_usage([*sorted(tmp_path.iterdir()), tmp_path / "C05-r1"]).per_run
    means = dict(zip(usage["run"], usage["cpu_percent_mean"], strict=True))

    assert means["C01-r1"] == pytest.approx(80)
    assert means.get("C02-r1") is None
    assert usage.filter(run="C04-r1")["gpu0_percent_mean"].to_list() == [9]
    assert not {"C03-r1", "C05-r1"} & means.keys()


def test_many_runs_are_read_a_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_files, "BATCH_BYTES", 100)
    for number in range(1, 10):
        (tmp_path / f"C{number:02d}-r1").mkdir()
        (tmp_path / f"C{number:02d}-r1" / "samples.csv").write_text(
            f"time,seconds,cpu_percent\n0,0,\n1,1,{number}\n2,2,{number}\n"
        )

    usage = read_usage(tmp_path.iterdir()).per_run

    assert usage["run"].to_list() == [f"C{number:02d}-r1" for number in range(1, 10)]
    assert usage["cpu_percent_mean"].to_list() == list(range(1, 10))


def _means(tables: dict[str, list[Row]]) -> dict[str, float]:
    return {
        run: usage_of_run(_samples(rows))["cpu_percent_mean"].item() for run, rows in tables.items()
    }


def _samples(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "seconds": [0.0, *accumulate(span for span, _ in rows)],
            "cpu_percent": [None, *(value for _, value in rows)],
        },
        {"seconds": pl.Float64, "cpu_percent": pl.Float64},
    )


def _usage(path: Path) -> float:
    mean: float = read_usage([path]).per_run["cpu_percent_mean"].item()
    return mean
