"""The benchmarks' own judgement; what they measure is `make bench`'s business."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from benchmarks import analysis, data_preparation, report_page, training_overhead
from prumo.results.tables import Results

if TYPE_CHECKING:
    from pathlib import Path


def test_a_median_below_the_limit_fails_though_its_interval_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pairs = [(1.00, 0.99), (1.00, 0.97), (1.00, 0.97)] * 3

    assert training_overhead.judged("jax", pairs, limit=0.98) == 1
    assert "0.9700 to 0.9900 of 9 pairs (limit 0.98" in capsys.readouterr().out
    assert training_overhead.judged("jax", pairs, limit=0.97) == 0


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_a_framework_that_cannot_be_measured_fails_where_everything_must_be_there(
    ci: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path))

    assert training_overhead.measured("caffe@0.9.0") == code


@pytest.mark.parametrize(
    ("measured", "code"),
    [
        ({}, 0),
        ({"seconds": 10.1}, 1),
        ({"memory_bytes": 1.1e9}, 1),
        ({"seconds": 4.6}, 1),
        ({"steps_seconds": 4.1}, 1),
    ],
)
def test_an_analysis_over_one_of_its_limits_fails(measured: dict[str, float], code: int) -> None:
    half = {"seconds": 2.0, "memory_bytes": 3e8, "steps_seconds": 1.0}
    whole = {"seconds": 4.0, "memory_bytes": 3e8, "steps_seconds": 1.0}

    assert analysis.judged([(half, whole | measured)]) == code


def test_the_results_that_are_analysed_have_samples_steps_and_epochs_in_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "RUNS", 45)
    monkeypatch.setattr(analysis, "STEPS_PER_EPOCH", 3)
    analysis.write_results(tmp_path / "some", samples=900)

    found = analysis.analysed(tmp_path / "some")

    assert found.keys() == {"seconds", "memory_bytes", "steps_seconds"}
    assert Results(tmp_path / "some").samples().collect().height == 900


@pytest.mark.parametrize(
    ("size_bytes", "opened_seconds", "code"),
    [(4_000_000, 1.9, 0), (5_100_000, 0.5, 1), (4_000_000, 2.1, 1)],
)
def test_a_page_that_is_too_large_or_opens_too_slowly_fails(
    size_bytes: int, opened_seconds: float, code: int
) -> None:
    assert report_page.judged(size_bytes, opened_seconds, made_seconds=60.0) == code


@pytest.mark.torch
@pytest.mark.usefixtures("pytorch_python")
def test_preparing_data_leaves_the_cache_where_it_was(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(data_preparation, "TURNS", 1)
    monkeypatch.setattr(data_preparation, "IMAGES_PER_BATCH", 100)
    before = os.environ.get("PRUMO_CACHE")

    data_preparation.main()

    assert os.environ.get("PRUMO_CACHE") == before
    assert "the loader of pytorch" in capsys.readouterr().out
