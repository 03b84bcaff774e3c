"""How soon a photograph should be seen by a specialist."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from prumo.retina.grade import Grade

if TYPE_CHECKING:
    from collections.abc import Sequence

_MORE_PROBABLE_THAN_NOT = 0.5


class Urgency(StrEnum):
    """The most urgent first."""

    URGENT = "urgent"
    UNGRADABLE = "ungradable"
    REFER = "refer"
    NONE = "none"

    @property
    def label(self) -> str:
        """In English; the key of its translations."""
        return _LABELS[self]


_LABELS = {
    Urgency.URGENT: "urgent: severe or proliferative",
    Urgency.UNGRADABLE: "refer: cannot be judged",
    Urgency.REFER: "refer",
    Urgency.NONE: "no referral",
}


def urgency_of(refer: bool, grade_probabilities: Sequence[float]) -> Urgency:
    """Of a photograph that a model has judged; without probabilities of grades nothing is urgent.

    Severe and proliferative retinopathy threaten sight and cannot wait as others can: they are
    urgent when one of them is the most probable grade, or both together are more probable than
    not.
    """
    if not refer:
        return Urgency.NONE
    if not grade_probabilities:
        return Urgency.REFER
    threat = threat_probability(grade_probabilities)
    most_probable = grade_probabilities.index(max(grade_probabilities))
    is_urgent = most_probable >= Grade.SEVERE or threat >= _MORE_PROBABLE_THAN_NOT
    return Urgency.URGENT if is_urgent else Urgency.REFER


def threat_probability(grade_probabilities: Sequence[float]) -> float:
    """Of severe or proliferative retinopathy."""
    return sum(grade_probabilities[Grade.SEVERE :])
