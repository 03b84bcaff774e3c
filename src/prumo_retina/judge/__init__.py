"""How good a model is on photographs with known grades, as figures with intervals."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo_retina.grade import Grade
from prumo_retina.judge.calibration import Calibration, calibration
from prumo_retina.judge.measures import (
    PointRates,
    Rates,
    RocCurve,
    auc,
    confusion,
    grades_of,
    patients_of,
    point_rates,
    quadratic_kappa,
    rates,
    roc_curve,
    scores_of,
)
from prumo_serve.estimates import rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prumo_retina.judge.calibration import Decisions
    from prumo_retina.judge.measures import Case
    from prumo_retina.model import OperatingPoint, Task
    from prumo_serve.estimates import Estimate

COLUMNS = ("camera", "site", "fold")
FEWEST = 10
"""With fewer of one class, one photograph moves a rate by more than ten percentage points."""


@dataclass(frozen=True)
class Judgement:
    """Figures with their intervals; those of grades only where the model tells grades."""

    photographs: int
    patients: int | None
    """None where nobody knows the patients."""
    grade_counts: dict[int, int]
    ungradable: Estimate
    """The share of photographs that nobody can judge."""
    auc: Estimate
    roc: RocCurve
    points: tuple[PointRates, ...]
    calibration: Calibration
    uncalibrated: Calibration
    """The same before temperature scaling."""
    grades: GradeJudgement | None
    groups: tuple[GroupTable, ...]


@dataclass(frozen=True)
class GradeJudgement:
    """How well the five grades were answered."""

    kappa: Estimate
    """Quadratic weighted."""
    accuracy: Estimate
    confusion: NDArray[np.intp]
    """A row for each true grade, a column for each answer."""


def judged(
    cases: Sequence[Case],
    decisions: Decisions,
    task: Task,
    points: Sequence[OperatingPoint],
    default_point: str,
) -> Judgement:
    """Judge decisions, which stand in the order of the gradable cases; all others are referred."""
    gradable = [case for case in cases if case.is_gradable]
    referable, patients = [case.is_referable for case in gradable], patients_of(gradable)
    everybody = patients_of(cases)
    counts = Counter(case.grade for case in cases)
    return Judgement(
        photographs=len(cases),
        patients=None if everybody is None else len(set(everybody) - {""}),
        grade_counts={int(grade): counts[grade] for grade in Grade},
        ungradable=rate([not case.is_gradable for case in cases], everybody),
        auc=auc(decisions.probability, referable, patients),
        roc=roc_curve(decisions.probability, referable),
        points=tuple(point_rates(cases, decisions.referred(point.name), point) for point in points),
        calibration=calibration(decisions.probability, referable, patients),
        uncalibrated=calibration(decisions.uncalibrated, referable, patients),
        grades=_grade_judgement(gradable) if task == "grade" else None,
        groups=group_tables(cases, decisions, default_point),
    )


def _grade_judgement(gradable: Sequence[Case]) -> GradeJudgement:
    """Of the most likely grade, which no temperature changes."""
    true, told = grades_of(gradable), scores_of(gradable).argmax(axis=1)
    patients = patients_of(gradable)
    return GradeJudgement(
        kappa=quadratic_kappa(told, true, patients),
        accuracy=rate(told == true, patients),
        confusion=confusion(true, told),
    )


@dataclass(frozen=True)
class Group:
    """The photographs of one camera, site or fold."""

    name: str
    """Empty for photographs that tell none."""
    photographs: int
    referable: int
    ungradable: int
    auc: Estimate | None
    """None where everybody or nobody of the gradable is referable."""
    rates: Rates
    """Of the gradable photographs, at the model's own operating point."""
    is_small: bool
    """Whether it has too few referable photographs, or too few others, to be compared."""


@dataclass(frozen=True)
class GroupTable:
    """All groups of a column, the largest first."""

    column: str
    groups: tuple[Group, ...]


def group_tables(cases: Sequence[Case], decisions: Decisions, point: str) -> tuple[GroupTable, ...]:
    """A table for each column that tells the photographs apart."""
    gradable = [case for case in cases if case.is_gradable]
    referred = decisions.referred(point)
    tables = []
    for column in COLUMNS:
        # No fold holds a photograph that cannot be judged, so their table has only the others.
        members = gradable if column == "fold" else cases
        of_gradable = np.array([getattr(case, column) for case in gradable], dtype=np.str_)
        groups = [
            _group(
                name,
                [case for case in members if getattr(case, column) == name],
                decisions.probability[of_gradable == name],
                referred[of_gradable == name],
            )
            for name in {getattr(case, column) for case in members}
        ]
        groups.sort(key=lambda group: (-group.photographs, group.name))
        if len(groups) > 1:
            tables.append(GroupTable(column, tuple(groups)))
    return tuple(tables)


def _group(
    name: str,
    cases: Sequence[Case],
    probability: NDArray[np.float64],
    referred: NDArray[np.bool_],
) -> Group:
    gradable = [case for case in cases if case.is_gradable]
    truths = [case.is_referable for case in gradable]
    classes = sum(truths), len(truths) - sum(truths)
    return Group(
        name=name,
        photographs=len(cases),
        referable=sum(case.is_referable for case in cases),
        ungradable=len(cases) - len(gradable),
        auc=auc(probability, truths, patients_of(gradable)) if min(classes) else None,
        rates=rates(gradable, referred),
        is_small=min(classes) < FEWEST,
    )
