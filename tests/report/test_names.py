"""Factors and metrics may be called anything, also what Prumo calls its own columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from prumo.report.content import Report, assemble
from prumo.report.language import english
from prumo.report.render import LocalizedReport
from prumo.report.sections.outcome import WarningsSection
from prumo.report.warnings import WarningKind
from prumo.results.tables import Results
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [
    *("machine", "cores", "samples", "label", "group", "run", "n", "mean", "metric", "order"),
    *("verdict", "value", "place", "panel", "wall_seconds", "cpu_percent_mean", "versions"),
    *("^.*$", "*", "a b", "größe ⏱", "{x}", "", "a.b[0]"),
]
# Exact in binary, and no multiples of a step that a clock may have.
VALUES = {"low": (1.0078125, 1.4921875), "high": (4.0078125, 4.4921875)}


@pytest.mark.parametrize("name", NAMES)
def test_a_factor_of_any_name_is_compared(tmp_path: Path, name: str) -> None:
    report = _report(tmp_path, factor=name, metric="score")

    assert [effect.level for effect in report.effects] == ["low", "high"]
    assert [effect.interval.mean for effect in report.effects] == [1.25, 4.25]


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_of_any_name_is_summarised(tmp_path: Path, name: str) -> None:
    report = _report(tmp_path, factor="size", metric=name)

    assert report.summary.filter(metric=report.main_metric)["mean"].to_list() == [1.25, 4.25]


@pytest.mark.parametrize("name", ["machine", "label", "group", "value", "mean", "panel", "^.*$"])
def test_a_factor_and_a_metric_of_one_name_have_a_page(tmp_path: Path, name: str) -> None:
    results = _results(tmp_path, factor=name, metric=name)
    report = assemble(results, [_stated_metric(results, name)], 0.95)

    assert "of every scenario</title>" in LocalizedReport(results, report, english()).page()
    assert [effect.interval.mean for effect in report.effects] == [1.25, 4.25]


def _report(path: Path, factor: str, metric: str) -> Report:
    """The report of two scenarios on a quiet machine, by the metric that they state."""
    results = _results(path, factor, metric)
    own = _stated_metric(results, metric)
    report = assemble(results, [own], 0.95)
    assert (
        json.loads(json.dumps(LocalizedReport(results, report, english()).document()))[
            "main_metric"
        ]
        == own
    )
    assert set(WarningsSection.of(results, report).warnings) == {WarningKind.WIDE_INTERVAL}
    return report


def _results(path: Path, factor: str, metric: str) -> Results:
    factory = ResultFactory(path / "demo", factors={factor: list(VALUES)})
    for number, (level, values) in enumerate(VALUES.items(), start=1):
        for replication, value in enumerate(values, start=1):
            factory.run(number, replication, {factor: level}, metrics={metric: value})
    return Results(factory.path)


def _stated_metric(results: Results, name: str) -> str:
    """The column of a metric, which is not called by the metric's name where that is taken."""
    renamed = f"metric_{name}"
    return renamed if renamed in results.metrics else name
