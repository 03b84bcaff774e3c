"""The order in which photographs should be looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.retina.prediction.urgency import Urgency

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo.retina.prediction.prediction import Prediction


def worklist(predictions: Iterable[Prediction]) -> list[Prediction]:
    """The most urgent first; those of one urgency by probability, equal ones as they were given.

    Urgent ones go by the probability of severe or proliferative retinopathy, all others by that of
    a referral. What cannot be judged follows the urgent ones: nobody knows what it hides.
    """
    return sorted(predictions, key=_place)


def _place(prediction: Prediction) -> tuple[int, float]:
    rank = list(Urgency).index(prediction.urgency)
    if prediction.urgency is Urgency.URGENT:
        return rank, -(prediction.threat_probability or 0.0)
    return rank, -(prediction.probability or 0.0)
