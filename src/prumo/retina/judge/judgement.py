"""Everything that can be said of a model on photographs with known grades."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.retina.grade import Grade
from prumo.retina.judge.calibration import Calibration, calibration
from prumo.retina.judge.case import grades_of, patients_of, scores_of
from prumo.retina.judge.groups import GroupTable, group_tables
from prumo.retina.judge.kappa import confusion, quadratic_kappa
from prumo.retina.judge.point_rates import PointRates, point_rates
from prumo.retina.judge.rate import rate
from prumo.retina.judge.roc import RocCurve, auc, roc_curve

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from prumo.retina.judge.case import Case
    from prumo.retina.judge.decision import Decisions
    from prumo.retina.judge.estimate import Estimate
    from prumo.retina.model.description import OperatingPoint, Task


@dataclass(frozen=True)
class GradeJudgement:
    """How well the five grades were told."""

    kappa: Estimate
    """Quadratic weighted."""
    accuracy: Estimate
    confusion: NDArray[np.intp]
    """A row for each true grade, a column for each that was told."""


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
