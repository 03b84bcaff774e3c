"""What `import prumo` gives: results with their statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import prumo
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path


def test_the_summary_covers_every_metric(tmp_path: Path) -> None:
    summary = prumo.Results(ResultFactory(tmp_path / "demo").study_of(3).path).summary(0.9)
    row = summary.filter(scenario="C1", metric="train_seconds").row(0, named=True)

    assert row["n"] == 3
    assert row["ci_low"] < row["mean"] < row["ci_high"]
    assert {"wall_seconds", "cpu_percent_mean"} <= set(summary["metric"])


def test_an_empty_results_folder_has_an_empty_summary(tmp_path: Path) -> None:
    assert prumo.Results(ResultFactory(tmp_path / "demo").path).summary().is_empty()


def test_results_are_read_from_text_as_well_as_from_a_path(tmp_path: Path) -> None:
    path = ResultFactory(tmp_path / "demo").study_of(1).path

    assert prumo.Results(str(path)).runs().equals(prumo.Results(path).runs())
