"""An evaluation of made answers, for tests of what is told and written about one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_retina.dataset.manifest import Entry
from prumo_retina.evaluation import Evaluation, Material
from prumo_retina.fundus.preparation import Preparation, Verdict
from prumo_retina.grade import DEFAULT_POINT
from prumo_retina.judge import judged
from prumo_retina.judge.calibration import chosen_points, cross_fitted_decisions, fixed_decisions
from prumo_retina.judge.measures import grades_of, scores_of
from prumo_retina.model import ModelDescription, ModelFolder, Normalization
from prumo_retina.scoring import referral_probability
from support.judged_cases import grade_cases, referral_cases

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_retina.judge.measures import Case
    from prumo_retina.model import Task

TEMPERATURE = 1.3


def made_description(task: Task = "grade", sha256: str = "0" * 64) -> ModelDescription:
    """A model whose points were chosen on made validation photographs."""
    cases = [case for case in _made_cases(task, 120, seed=7) if case.is_gradable]
    probability = referral_probability(scores_of(cases), task, TEMPERATURE)
    points = chosen_points(probability, [case.is_referable for case in cases], "validation")
    return ModelDescription(
        name="retina-made",
        created="2026-11-15T12:00:00+00:00",
        task=task,
        network="efficientnet_lite0",
        preparation=Preparation(size=224),
        normalization=Normalization(offset=(127.0,) * 3, scale=(128.0,) * 3),
        weights="scratch",
        network_sha256=sha256,
        temperature=TEMPERATURE,
        points=points,
        point=DEFAULT_POINT,
        training={
            "seconds": 95.3,
            "epochs": 40,
            "best_epoch": 31,
            "device": "cpu",
            "versions": {"tensorflow": "2.21.0"},
            "parameters": {"batch_size": 8, "optimizer": "adam"},
        },
        data={"subsets": {"train": [90, 20, 60, 30, 20], "validation": [22, 5, 15, 8, 5]}},
    )


def made_evaluation(
    folder: Path, task: Task = "grade", *, out_of_fold: bool = False, seen: int = 0
) -> Evaluation:
    """Of a model on 240 photographs, twelve of them ungradable."""
    description = made_description(task)
    cases = _made_cases(task, 240, seed=3)
    gradable = [case for case in cases if case.is_gradable]
    if out_of_fold:
        folds = [case.fold for case in gradable]
        decisions = cross_fitted_decisions(scores_of(gradable), grades_of(gradable), folds, task)
    else:
        decisions = fixed_decisions(scores_of(gradable), task, TEMPERATURE, description.points)
    return Evaluation(
        name="prepared-test",
        made="2026-11-16T08:00:00+00:00",
        model=ModelFolder(folder, description),
        material=None if out_of_fold else _material(folder, cases),
        is_out_of_fold=out_of_fold,
        seen=seen,
        cases=tuple(cases),
        decisions=decisions,
        judgement=judged(cases, decisions, task, description.points, DEFAULT_POINT),
    )


def _made_cases(task: Task, count: int, seed: int) -> list[Case]:
    if task == "grade":
        return grade_cases(count, seed=seed, ungradable=count // 20, per_patient=2)
    return referral_cases(count, seed=seed)


def _material(folder: Path, cases: list[Case]) -> Material:
    gradable, ungradable = (
        tuple(
            Entry(
                input=f"{case.image}.jpg",
                verdict=Verdict.GOOD if wanted else Verdict.BLURRED,
                output=f"images/{case.image}.jpg",
                grade=case.grade,
            )
            for case in cases
            if case.is_gradable == wanted
        )
        for wanted in (True, False)
    )
    return Material(
        folder, "test", gradable, ungradable, {"duplicates of others": 3, "ungradable": 2}
    )
