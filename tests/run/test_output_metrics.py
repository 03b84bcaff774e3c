"""Figures are found in what a command prints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from prumo.run.workloads.command import read_output_metrics
from prumo.study.command import Metrics

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.study.command import Keep

LOG = """\
loading
{"loss": 2.0, "epoch": 1, "name": "a", "done": false}
step 1 loss=2.00 (0.5 s)
{"loss": 1.0}
step 2 loss=1.00 (0.7 s)
{broken
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "worker.log"
    path.write_text(LOG)
    return path


def test_json_lines_give_their_numbers_and_the_last_counts(log: Path) -> None:
    assert read_output_metrics(log, Metrics()) == {
        "loss": 1.0,
        "epoch": 1.0,
    }


def test_named_groups_give_figures(log: Path) -> None:
    pattern = r"loss=(?P<loss>[\d.]+) \((?P<seconds>[\d.]+) s\)"
    assert read_output_metrics(log, Metrics(json_lines=False, patterns=(pattern,))) == {
        "loss": 1.0,
        "seconds": 0.7,
    }


@pytest.mark.parametrize(
    ("keep", "value"),
    [("first", 0.5), ("last", 0.7), ("min", 0.5), ("max", 0.7), ("sum", 1.2), ("mean", 0.6)],
)
def test_the_study_says_which_of_several_values_counts(log: Path, keep: Keep, value: float) -> None:
    wanted = Metrics(json_lines=False, patterns=(r"\((?P<s>[\d.]+) s\)",), keep={"s": keep})
    found = read_output_metrics(log, wanted)
    assert found["s"] == pytest.approx(value)


def test_a_group_that_is_no_number_is_passed_over(log: Path) -> None:
    assert read_output_metrics(log, Metrics(json_lines=False, patterns=(r"(?P<w>load)",))) == {}


def test_a_value_that_is_not_finite_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'\xff\xfe\n{"loss": NaN}\n')
    found = read_output_metrics(path, Metrics())
    assert math.isnan(found["loss"])


def test_a_number_too_large_for_any_figure_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f'{{"huge": {10**400}, "fine": 1}}')
    assert read_output_metrics(path, Metrics()) == {"fine": 1.0}


def test_a_log_that_was_never_begun_has_no_figures(tmp_path: Path) -> None:
    assert read_output_metrics(tmp_path / "absent", Metrics()) == {}
