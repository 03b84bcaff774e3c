"""What a reader must know before believing any figure of a card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.retina.card.photographs import learnt_counts
from prumo.retina.grade import REFERABLE_FROM
from prumo.retina.judge.operating_point import FEWEST_TO_EXPECT, TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.retina.evaluation.evaluation import Evaluation

_CHANCE = 0.5


def cautions(evaluation: Evaluation) -> Iterator[Message]:
    """The warnings that these figures need; none where they need none."""
    if evaluation.seen:
        yield Message(
            "{count} of these photographs has trained the model or chosen its thresholds: the "
            "figures flatter it.",
            {"count": evaluation.seen},
            "{count} of these photographs have trained the model or chosen its thresholds: the "
            "figures flatter it.",
        )
    low = evaluation.judgement.auc.low
    if low is None or low <= _CHANCE:
        yield Message(
            "The model is not shown to be better than chance: the interval of its area under the "
            "ROC curve does not lie above {chance:.1f}.",
            {"chance": _CHANCE},
        )
    yield from _few_for_thresholds(evaluation)
    if evaluation.material is None:
        yield Message(
            "Photographs that cannot be judged are not part of these figures: only the answers of "
            "the cross-validation were at hand. Give the data folder too, and they count as "
            "referrals."
        )


def _few_for_thresholds(evaluation: Evaluation) -> Iterator[Message]:
    """Thresholds are chosen on the validation photographs, or on those of all folds."""
    counts = learnt_counts(evaluation.model.description)
    grades = counts.get("validation") or counts.get("all")
    if grades is None:
        return
    others, referable = sum(grades[:REFERABLE_FROM]), sum(grades[REFERABLE_FROM:])
    if min(others, referable) < FEWEST_TO_EXPECT:
        yield Message(
            "The thresholds were chosen on {referable} referable photographs and {others} others: "
            "fewer than {fewest} of either cannot tell whether {target:.2f} of new ones will be "
            "answered rightly.",
            {
                "referable": referable,
                "others": others,
                "fewest": FEWEST_TO_EXPECT,
                "target": TARGET,
            },
        )
