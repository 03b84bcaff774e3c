"""The benchmarks' own judgement; what they measure is `make bench`'s business."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from benchmarks import (
    analysis,
    data_preparation,
    deploy,
    keep_warm,
    load_generator,
    report_page,
    retina_fundus,
    retina_preparation,
    retina_quality,
    sagemaker_proxy,
    serverless_front,
    tfrecord,
    training_overhead,
)
from benchmarks.fundus_faults import FAULTS
from prumo.results.tables import Results
from prumo_retina.fundus.preparation import Verdict
from support.fundus_factory import fundus, write_photograph, write_photographs

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from prumo_retina.fundus.choices import Method


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
    ("seconds", "cpu_seconds", "memory_bytes", "code"),
    [(59.0, 20.0, 9e8, 0), (61.0, 20.0, 9e8, 1), (59.0, 23.0, 9e8, 1), (59.0, 20.0, 1.1e9, 1)],
)
def test_a_tournament_over_one_of_its_limits_fails(
    seconds: float, cpu_seconds: float, memory_bytes: float, code: int
) -> None:
    half = keep_warm.Turn(30.0, 10.0, int(5e8), policies=8)
    whole = keep_warm.Turn(seconds, cpu_seconds, int(memory_bytes), policies=8)

    assert keep_warm.judged([(half, whole)]) == code


def test_a_tournament_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    keep_warm.write_trace(tmp_path / "trace.csv", 5000)

    turn = keep_warm.tournament(tmp_path / "trace.csv")

    assert turn.policies == 8
    assert min(turn.seconds, turn.cpu_seconds, turn.memory_bytes) > 0


@pytest.mark.parametrize(
    ("size_bytes", "opened_seconds", "code"),
    [(4_000_000, 1.9, 0), (5_100_000, 0.5, 1), (4_000_000, 2.1, 1)],
)
def test_a_page_that_is_too_large_or_opens_too_slowly_fails(
    size_bytes: int, opened_seconds: float, code: int
) -> None:
    assert report_page.judged(size_bytes, opened_seconds, made_seconds=60.0) == code


@pytest.mark.parametrize(("theirs", "code"), [(1.01, 0), (0.99, 1)])
def test_a_writer_of_records_that_is_slower_than_tensorflows_fails(
    theirs: float, code: int
) -> None:
    assert tfrecord.judged([(9.0, 1.0), (theirs, 1.0), (0.1, 1.0)]) == code


@pytest.mark.parametrize(("through", "code"), [(0.0109, 0), (0.0111, 1)])
def test_a_front_that_takes_too_much_of_a_request_fails(through: float, code: int) -> None:
    working = [(0.01, 0.09), (0.01, through), (0.01, 0.01)]

    assert serverless_front.judged([(3e-5, 9e-4)], working) == code


def test_a_proxy_is_measured_against_the_server_behind_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sagemaker_proxy, "TURNS", 1)
    monkeypatch.setattr(sagemaker_proxy, "REQUESTS", {0.0: 20, 0.05: 2})

    sagemaker_proxy.main()

    assert "the proxy to SageMaker adds" in capsys.readouterr().out
    assert sagemaker_proxy.judged([(3e-5, 3e-4)], [(0.05, 0.06)]) == 1


@pytest.mark.parametrize(("seconds", "code"), [(15.5, 0), (15.7, 1)])
def test_a_deployment_that_takes_much_longer_than_terraform_fails(
    seconds: float, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = [deploy.Turn(each, init=2.0, apply=10.0) for each in (9.0, seconds, 99.0)]

    assert deploy.judged(turns) == code
    assert f"{seconds / 10:.2f} times apply alone" in capsys.readouterr().out


@pytest.mark.root
def test_a_front_is_measured_against_the_server_behind_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serverless_front, "TURNS", 1)
    monkeypatch.setattr(serverless_front, "REQUESTS", {0.0: 20, 0.01: 5})

    serverless_front.main()

    assert "times as long as without it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("middle", "slow", "ours", "code"),
    [
        (1e-4, 9e-4, 2e-4, 0),
        (3e-4, 9e-4, 2e-4, 1),
        (1e-4, 2e-3, 2e-4, 1),
        (1e-4, 9e-4, 4e-4, 1),
    ],
)
def test_a_load_generator_that_is_late_or_adds_too_much_fails(
    middle: float, slow: float, ours: float, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    higher = [load_generator.Load(4e3, 1e-4, 2e-3, is_held=True)]
    loads = [load_generator.Load(2e3, middle, slow, is_held=True), *higher]

    assert load_generator.judged(loads, {1: [(1e-4, ours), (1e-4, 9e-1), (1e-4, 1e-4)]}) == code
    assert "it holds 4,000 requests/s" in capsys.readouterr().out


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_a_load_generator_is_measured_without_wrk(
    ci: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(load_generator, "TURNS", 1)
    monkeypatch.setattr(load_generator, "SECONDS", 0.05)
    with load_generator.server_on_another_core() as address:
        measured = load_generator.load(address, 200.0)

    assert measured.lateness_p99_seconds >= measured.lateness_p50_seconds > 0
    assert load_generator.judged([measured._replace(lateness_p99_seconds=1e-4)], {}) == code
    assert "not compared" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "overlap", "code"), [(1.0, 0.99, 0), (1.1, 0.99, 1), (1.0, 0.97, 1)]
)
def test_preparing_photographs_too_slowly_or_elsewhere_fails(
    seconds: float, overlap: float, code: int
) -> None:
    turns = [retina_preparation.Turn(8.1, seconds, overlap)] * 3

    assert retina_preparation.judged(turns, photographs=12) == code


def test_photographs_are_prepared_in_both_ways_and_their_circles_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retina_preparation, "PHOTOGRAPHS", 2)
    monkeypatch.setattr(retina_preparation, "WIDTH", 1072)
    monkeypatch.setattr(retina_preparation, "HEIGHT", 712)
    photographs = retina_preparation.drawn_photographs(tmp_path / "photographs")

    with ThreadPoolExecutor(1) as pool:
        turn = retina_preparation.turn(pool, photographs, tmp_path / "turn")

    assert min(turn.plain_seconds, turn.seconds) > 0
    assert 0.95 < turn.overlap < 1
    assert len(list((tmp_path / "turn").rglob("*.jpg"))) == 4


@pytest.mark.parametrize(("rim", "code"), [([0.96, 0.99], False), ([0.96, 0.94], True)])
def test_a_default_method_that_finds_fewer_fundi_than_another_fails(
    rim: list[float], code: bool
) -> None:
    overlaps: dict[Method, list[float]] = {"rim": rim, "voets": [0.99, 0.95]}

    assert retina_fundus.is_default_worse(overlaps) == code


def test_methods_are_compared_on_photographs_of_a_folder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(retina_fundus, "FAULTS", {"dark": FAULTS["an eighth of the light"]})
    write_photographs(tmp_path, 1, grades=(0, 4))

    assert retina_fundus.main([str(tmp_path)]) == 0
    assert "2 photographs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fault", "good", "code"),
    [
        ("half the light", 19, False),
        ("half the light", 18, True),
        ("an eighth of the light", 1, False),
        ("an eighth of the light", 2, True),
        ("a quarter of the light", 10, False),
    ],
)
def test_verdicts_that_are_too_strict_or_too_mild_fail(fault: str, good: int, code: bool) -> None:
    counts = Counter({Verdict.GOOD: good, Verdict.TOO_DARK: 20 - good})

    assert retina_quality.is_limit_missed(fault, counts) == code


def test_only_photographs_that_are_good_untouched_are_degraded_to_see_their_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_photographs(tmp_path, 1, grades=(0, 4))
    write_photograph(tmp_path / "dark.jpg", fundus(400, 300, brightness=0.1))
    (tmp_path / "broken.jpg").write_bytes(b"no photograph")
    monkeypatch.setattr(retina_quality, "BETWEEN", {})

    assert retina_quality.main([str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "broken.jpg: is not a photograph" in said
    assert "left out: dark.jpg: too_dark: median brightness" in said
    assert "2 photographs that are good untouched" in said
    assert "| an eighth of the light | 0 | 0 | 0 | 0 | 0 | 2 | 0 |" in said


@pytest.mark.parametrize("benchmark", [retina_fundus, retina_preparation, retina_quality])
def test_a_benchmark_on_photographs_explains_itself_and_refuses_an_empty_folder(
    benchmark: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        benchmark.main(["--help"])
    with pytest.raises(SystemExit, match="2"):
        benchmark.main([str(tmp_path)])

    said = capsys.readouterr()
    assert f"python -m {benchmark.__name__} [FOLDER" in said.out
    assert f"{tmp_path} holds no file that ends in" in said.err


@pytest.mark.slow
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
