"""Figures of requests: what is marked in them, and in which order."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

from prumo.report.figures.figure import PALETTE
from prumo.report.language import language
from prumo_endpoint.load.request_table import requests_needed
from prumo_endpoint.report.figures import MOST_LINES, tail_figures, timeline_figures
from prumo_endpoint.report.rates import Goal, rate_figures

ENGLISH = language("en")


def requests(machine: str, phases: dict[float, float], count: int = 100) -> list[dict[str, Any]]:
    """A ramp of rates, to a server that needs so many seconds for an answer, one at a time."""
    rows, due, free = [], 0.0, 0.0
    for rate, service in phases.items():
        for number in range(count):
            due += 1 / rate
            free = max(free, due) + service
            rows.append(
                {
                    "run": f"{machine}-r1",
                    "scenario": machine,
                    "machine": machine,
                    "phase": f"rate={rate:g}",
                    "outcome": "answered",
                    "due_seconds": due,
                    "end_seconds": free,
                    "latency_seconds": free - due,
                    "is_cold": number == 0,
                }
            )
        due = free
    return rows


def ramps() -> pl.DataFrame:
    fast = requests("fast", {5: 0.02, 10: 0.02, 20: 0.02, 40: 0.02})
    return pl.DataFrame([*fast, *requests("slow", {5: 0.08, 10: 0.08, 20: 0.08, 40: 0.08})])


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_a_ramp_marks_the_goal_the_rate_that_keeps_it_and_saturation() -> None:
    goal = Goal(0.1, {"fast-r1": 40.0, "slow-r1": 10.0})
    (figure,) = rate_figures(ramps(), ["machine"], goal, ENGLISH)

    assert "the goal of 100 ms" in figure.caption
    assert "keeps the goal (fast: 40/s; slow: 10/s)" in figure.caption
    # 12.5 answers a second follow 10 requests and no more; the other server always follows.
    assert "sent (slow: 20/s)" in figure.caption
    rules = re.findall(r'<line[^>]*stroke="(#\w+)" stroke-width="1.5"', figure.svg)
    assert rules == [PALETTE[1]]


def test_median_and_percentile_have_symbols_of_their_own() -> None:
    (figure,) = rate_figures(ramps(), ["machine"], Goal(), ENGLISH)
    symbols = re.findall(r'role-legend-symbol.*?<path[^>]*stroke-dasharray="([\d,]+)"', figure.svg)

    assert {"median", "p95"} <= {*texts(figure.svg)}
    assert "4,3" in symbols
    assert "Ringed" not in figure.caption
    assert "Dotted" not in figure.caption


def test_refused_requests_saturate_however_fast_the_refusal_is() -> None:
    refused = pl.when(pl.col("phase") == "rate=40").then(pl.lit("refused"))
    table = pl.DataFrame(requests("fast", {5: 0.02, 20: 0.02, 40: 0.0001})).with_columns(
        outcome=refused.otherwise("outcome")
    )
    (figure,) = rate_figures(table, ["machine"], Goal(), ENGLISH)

    assert "sent (fast: 40/s)" in figure.caption


def test_cold_starts_lie_over_the_other_requests_larger_and_in_another_colour() -> None:
    (figure,) = timeline_figures(ramps(), ["machine"], ENGLISH)
    marks = figure.svg.partition("role-legend")[0]
    colors = re.findall(r'<path[^>]*transform="translate[^>]*fill="(#\w+)"', marks)
    by_panel = len(colors) // 2

    assert len(colors) == ramps().height
    for panel in (colors[:by_panel], colors[by_panel:]):
        assert panel == sorted(panel, key=[PALETTE[0], PALETTE[1]].index)
        assert panel.count(PALETTE[1]) == 4
    assert {"fast", "slow", "cold start", "warm"} <= {*texts(figure.svg)}
    assert "another rate begins" in figure.caption


def test_without_cold_starts_there_is_no_legend() -> None:
    table = ramps().with_columns(is_cold=pl.lit(None, pl.Boolean))
    (figure,) = timeline_figures(table, ["machine"], ENGLISH)

    assert "role-legend" not in figure.svg


@pytest.mark.parametrize(("count", "most"), [(70, "90 %"), (700, "99 %"), (7000, "99.9 %")])
def test_the_tail_ends_where_requests_are_too_few(count: int, most: str) -> None:
    assert count >= requests_needed(float(most.removesuffix(" %")) / 100)
    table = pl.DataFrame(requests("fast", {5: 0.02}, count))
    (figure,) = tail_figures(table, ["machine"], ENGLISH)
    shares = [text for text in texts(figure.svg) if text.endswith(" %")]

    assert shares[-1] == most


def test_a_figure_says_which_scenarios_it_leaves_out() -> None:
    table = pl.DataFrame(
        [row for number in range(MOST_LINES + 2) for row in requests(f"m{number}", {5: 0.02})]
    )
    drawn = [
        *timeline_figures(table, ["machine"], ENGLISH),
        *tail_figures(table, ["machine"], ENGLISH),
        *rate_figures(table, ["machine"], Goal(), ENGLISH),
    ]

    assert len(drawn) == 3
    assert all("the first 7 of 9 scenarios" in figure.caption for figure in drawn)
