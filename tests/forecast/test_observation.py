"""What is to be forecast and what was measured, in the same terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prumo.forecast.observation import command_subject, observation_of, subject_of
from prumo.results.record import Verdict
from prumo.study import load
from support.record_factory import run_record
from support.study_factory import command_study, training_study

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.results.record import RunRecord
    from prumo.study import Study

FIXED = {"framework": "pytorch@2.2.0", "dataset": "mnist", "epochs": 2, "images": 200}


def _record(study: Study, **fields: Any) -> RunRecord:
    scenario = next(study.scenarios())
    values: dict[str, Any] = {
        "factors": dict(scenario.factors),
        "parameters": dict(scenario.parameters),
        "wall_seconds": 9.0,
        "metrics": {"train_seconds": 5.0, "warmup_seconds": 1.0},
        "data": {"shape": [1, 28, 28], "images": 200, "classes": 10},
        "versions": {"pytorch": "2.2.0+cpu"},
        "settings": {"warmup_steps": 3},
    }
    return run_record(**(values | fields))


def test_a_run_teaches_about_its_own_scenario() -> None:
    study = training_study(fixed=FIXED)
    subject = subject_of(study, next(study.scenarios()), (1, 10), 200)

    observation = observation_of(_record(study), study)

    assert observation is not None
    assert (observation.kind, observation.place) == (subject.kind, subject.place)
    assert observation.work == subject.work
    assert (observation.train_seconds, observation.warmup_seconds) == (5.0, 1.0)


def test_the_place_of_a_run_does_not_depend_on_how_long_it_was() -> None:
    study = training_study(fixed=FIXED)
    subject = subject_of(study, next(study.scenarios()), (1, 10), 60_000)

    observation = observation_of(_record(study), study)

    assert observation is not None
    assert observation.place == subject.place
    assert observation.work != subject.work


@pytest.mark.parametrize(
    "change",
    [{"framework": "pytorch@2.3.0"}, {"precision": "bf16"}, {"threads": 1}, {"device": "cuda"}],
)
def test_another_framework_device_or_precision_is_another_kind(change: dict[str, Any]) -> None:
    study = training_study(fixed=FIXED)
    other = training_study(fixed={**FIXED, **change})
    shape, images = (1, 10), 200

    kinds = {
        subject_of(each, next(each.scenarios()), shape, images).kind for each in (study, other)
    }

    assert len(kinds) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": Verdict.CRASHED},
        {"wall_seconds": None},
        {"metrics": {}},
        {"data": {}},
        {"parameters": {}},
        {"data": {"shape": "none", "images": 1, "classes": 1}},
    ],
)
def test_a_run_that_tells_too_little_teaches_nothing(fields: dict[str, Any]) -> None:
    study = training_study(fixed=FIXED)

    assert observation_of(_record(study, **fields), study) is None


def test_a_network_of_the_users_own_is_counted_from_its_layers(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "layers:\n"
        "  - {name: flat, operation: flatten}\n"
        "  - {name: scores, operation: dense, outputs: classes}\n"
    )
    (tmp_path / "study.yaml").write_text(
        "name: own\nworkload: {kind: training}\nfactors: {batch_size: [10]}\n"
        "fixed: {network: ./mine.yaml, dataset: mnist, images: 200}\n"
    )
    study = load(tmp_path / "study.yaml")

    subject = subject_of(study, next(study.scenarios()), (1, 10), 200)
    observation = observation_of(_record(study), study)

    assert subject.work is not None
    assert subject.work.flops == 2 * 28 * 28 * 10
    assert observation is not None
    assert observation.place == subject.place


def test_a_run_of_a_program_is_known_by_its_levels() -> None:
    study = command_study()
    subject = command_subject(study, next(study.scenarios()))

    observation = observation_of(_record(study), study)

    assert observation is not None
    assert (observation.kind, observation.place) == (subject.kind, subject.place)
    assert (observation.work, observation.wall_seconds) == (None, 9.0)
