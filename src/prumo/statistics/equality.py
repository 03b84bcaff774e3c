"""What is the same: networks in several frameworks, computers behind several machines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.results.equality import FrameworkEquality, ProofState, Tolerances
from prumo.results.record import trained_architectures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from prumo.results.equality import Answer, Equality
    from prumo.results.record import RunRecord
    from prumo.study.network import Architecture


# Over all of Prumo's networks and frameworks, rounding moves scores by up to 4e-6, losses by up to
# 1e-4 (where batch normalisation divides by small variances) and steps by up to 0.2 %. A wrong
# padding, epsilon or layout moves scores by 1e-2 and more.
TOLERANCES = Tolerances(score=1e-4, loss=1e-3, step=0.05)

# Below this share of the loss, too few digits of the change that a step makes are left.
_RESOLVED = 1e-4


def nearest(answers: Sequence[Answer]) -> Answer:
    """The answer whose scores are nearest to all others: the reference to compare with."""
    return min(answers, key=lambda one: sum(_apart(one, other) for other in answers))


def compared(answer: Answer, reference: Answer, parameters: int) -> FrameworkEquality:
    """One framework's row, against the reference and the count that the network announces."""
    findings = tuple(_findings(answer, reference, parameters))
    return FrameworkEquality(
        framework=answer.framework,
        state=ProofState.DIFFERENT if findings else ProofState.EQUAL,
        version=answer.version,
        parameters=answer.parameters,
        score_difference=_finite(_apart(answer, reference)),
        loss=_finite(answer.loss),
        loss_after=_finite(answer.losses_after.get(reference.learning_rate, math.nan)),
        findings=findings,
    )


def _findings(answer: Answer, reference: Answer, parameters: int) -> list[str]:
    found = []
    other = reference.framework
    if answer.inputs != reference.inputs:
        found.append(f"its weights or images are not those of {other}")
    if answer.parameters != parameters:
        found.append(f"{answer.parameters:,} parameters instead of {parameters:,}")
    rate = reference.learning_rate
    step, expected_step = answer.step(rate), reference.step(rate)
    if not np.isfinite([*answer.scores.flat, answer.loss, step]).all():
        return [*found, "a score or a loss is not finite"]
    apart = _apart(answer, reference)
    if apart > TOLERANCES.score:
        found.append(f"scores differ from {other} by {apart:.2g} of the largest")
    before, expected = answer.loss, reference.loss
    if abs(before - expected) > TOLERANCES.loss * abs(expected):
        found.append(f"the loss at step 0 is {before:.6g}, not {expected:.6g} as in {other}")
    if abs(expected_step) < _RESOLVED * abs(expected):
        found.append("no learning rate up to 1 changes the loss enough to compare a step")
    elif abs(step - expected_step) > TOLERANCES.step * abs(expected_step):
        found.append(f"a step changes the loss by {step:.4g}, not {expected_step:.4g}")
    return found


def _apart(one: Answer, other: Answer) -> float:
    if one.scores.shape != other.scores.shape:
        return float("inf")
    largest = float(np.abs(other.scores).max()) or 1.0
    apart = float(np.abs(one.scores - other.scores).max()) / largest
    return apart if np.isfinite(apart) else float("inf")


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def unproven(
    records: Iterable[RunRecord], equality: Equality | None
) -> list[tuple[Architecture, tuple[str, ...]]]:
    """The networks that several frameworks trained and were not found equal in, with these."""
    proven = {
        (network.architecture, row.framework)
        for network in (equality.networks if equality else ())
        for row in network.frameworks
        if row.state is ProofState.EQUAL
    }
    return [
        (architecture, tuple(frameworks))
        for architecture, frameworks in trained_architectures(records).items()
        if len(frameworks) > 1 and not {(architecture, name) for name in frameworks} <= proven
    ]


@dataclass(frozen=True)
class SameComputer:
    """Several labels of machines whose runs were all made on the same computer and device."""

    labels: tuple[str, ...]
    computers: tuple[str, ...]
    """What the runs say of it."""


def same_computers(conditions: pl.DataFrame) -> list[SameComputer]:
    """The machines that share a computer, from the conditions of finished runs.

    A run that does not say its computer or its device, as an imported one, tells nothing.
    """
    labels_of: dict[frozenset[tuple[Any, ...]], list[str]] = {}
    for (label,), runs in conditions.group_by("machine_level", maintain_order=True):
        if not runs["machine"].null_count() and not runs["device"].null_count():
            computers = frozenset(runs.select("machine", "device", "threads").iter_rows())
            labels_of.setdefault(computers, []).append(str(label))
    return [
        SameComputer(tuple(labels), tuple(sorted({name for name, _, _ in computers})))
        for computers, labels in labels_of.items()
        if len(labels) > 1
    ]
