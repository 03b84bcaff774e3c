"""The same figures camera by camera and site by site, where the photographs tell them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.retina.judge.case import patients_of
from prumo.retina.judge.point_rates import Rates, rates
from prumo.retina.judge.roc import auc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prumo.retina.judge.case import Case
    from prumo.retina.judge.decision import Decisions
    from prumo.retina.judge.estimate import Estimate

COLUMNS = ("camera", "site", "fold")
FEWEST = 10
"""With fewer of one class, one photograph moves a rate by more than ten percentage points."""


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
    """A table for each column that tells the photographs apart.

    No fold holds a photograph that cannot be judged, so their table has only the others.
    """
    parted = {
        column: [case for case in cases if column != "fold" or case.is_gradable]
        for column in COLUMNS
    }
    return tuple(
        GroupTable(column, _groups(members, decisions, point, column))
        for column, members in parted.items()
        if len({getattr(case, column) for case in members}) > 1
    )


def _groups(
    cases: Sequence[Case], decisions: Decisions, point: str, column: str
) -> tuple[Group, ...]:
    gradable = [case for case in cases if case.is_gradable]
    of_gradable = np.array([getattr(case, column) for case in gradable], dtype=np.str_)
    referred = decisions.referred(point)
    found = [
        _group(
            name,
            [case for case in cases if getattr(case, column) == name],
            decisions.probability[of_gradable == name],
            referred[of_gradable == name],
        )
        for name in {getattr(case, column) for case in cases}
    ]
    return tuple(sorted(found, key=lambda group: (-group.photographs, group.name)))


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
