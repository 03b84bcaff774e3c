"""The benchmarks' own judgement; what they measure is `make bench`'s business."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from benchmarks import data_preparation, training_overhead

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
