from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from prumo.results.equality import Answer, ProofState
from prumo.statistics.equality import TOLERANCES, compared, nearest

SCORES: np.ndarray = np.array([[1.0, -4.0, 2.0], [0.5, 3.0, -1.0]], dtype=np.float32)
REFERENCE = Answer(
    framework="pytorch",
    version="2.13.0",
    parameters=42,
    scores=SCORES,
    loss=2.5,
    losses_after={0.01: 2.49, 0.1: 2.4, 1.0: 1.5},
    inputs="abc",
)


def other(**changes: Any) -> Answer:
    return replace(REFERENCE, framework="jax", **changes)


def after(loss: float) -> dict[float, float]:
    return {0.01: 2.49, 0.1: loss, 1.0: 1.5}


def findings(answer: Answer) -> tuple[str, ...]:
    row = compared(answer, REFERENCE, parameters=42)
    assert (row.state is ProofState.DIFFERENT) == bool(row.findings)
    return row.findings


@pytest.mark.parametrize(
    "answer",
    [
        other(),
        other(scores=SCORES + np.float32(0.9 * TOLERANCES.score * 4)),
        other(
            loss=2.5 * (1 + 0.9 * TOLERANCES.loss),
            losses_after=after(2.4 + 2.5 * 0.9 * TOLERANCES.loss),
        ),
        other(losses_after=after(2.5 - 0.1 * (1 + 0.9 * TOLERANCES.step))),
    ],
    ids=["the same", "rounded scores", "rounded losses", "a rounded step"],
)
def test_answers_within_the_tolerances_are_equal(answer: Answer) -> None:
    assert findings(answer) == ()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (other(inputs="xyz"), "its weights or images are not those of pytorch"),
        (other(parameters=43), "43 parameters instead of 42"),
        (other(scores=SCORES * 1.01), "scores differ from pytorch by 0.01 of the largest"),
        (other(scores=SCORES[:1]), "scores differ from pytorch by inf"),
        (
            other(loss=2.51, losses_after=after(2.41)),
            "the loss at step 0 is 2.51, not 2.5 as in pytorch",
        ),
        (other(losses_after=after(2.1)), "a step changes the loss by -0.4, not -0.1"),
        (other(losses_after=after(2.5)), "a step changes the loss by 0, not -0.1"),
        (other(losses_after={0.01: 0.1}), "a score or a loss is not finite"),
        (other(loss=float("nan")), "a score or a loss is not finite"),
        (other(scores=SCORES * np.inf), "a score or a loss is not finite"),
    ],
)
def test_what_differs_is_said(answer: Answer, words: str) -> None:
    assert len(findings(answer)) == 1
    assert words in findings(answer)[0]


def test_a_difference_is_relative_to_the_largest_score() -> None:
    row = compared(other(scores=SCORES + np.float32(0.004)), REFERENCE, parameters=42)
    assert row.score_difference == pytest.approx(0.001, rel=1e-3)


def test_a_step_that_nobody_can_see_proves_nothing() -> None:
    still = replace(REFERENCE, losses_after={0.1: 2.5 - 1e-6, 1.0: 2.5 - 1e-5})
    row = compared(replace(still, framework="jax"), still, parameters=42)
    assert row.findings == ("no learning rate up to 1 changes the loss enough to compare a step",)


@pytest.mark.parametrize(
    ("losses_after", "rate"),
    [
        ({0.01: 2.49, 0.1: 2.4, 1.0: 1.5}, 0.1),
        ({0.01: 1.0}, 0.01),
        ({0.01: 2.499, 0.1: float("nan")}, 0.01),
    ],
    ids=["one that overshoots is left out", "there is no smaller one", "one that explodes"],
)
def test_the_step_is_the_largest_that_is_small(
    losses_after: dict[float, float], rate: float
) -> None:
    assert replace(REFERENCE, losses_after=losses_after).learning_rate == rate


def test_the_reference_is_the_one_nearest_to_all_others() -> None:
    near = other(scores=SCORES + np.float32(1e-6))
    strange = replace(REFERENCE, framework="caffe", scores=SCORES * 3)
    assert nearest([strange, near, REFERENCE]).framework in {"pytorch", "jax"}


def test_numbers_that_json_cannot_write_are_left_out_of_a_row() -> None:
    row = compared(other(loss=float("inf"), scores=SCORES * np.nan), REFERENCE, parameters=42)
    assert (row.loss, row.score_difference) == (None, None)
