"""From which probability on a photograph is referred: an operating point, or one's own."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from prumo.errors import InputError, did_you_mean
from prumo_retina.grade import Grade

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo_retina.model import ModelDescription


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


@dataclass(frozen=True)
class Threshold:
    """A probability of referral, and the operating point that it belongs to, if any."""

    value: float
    point: str = ""

    def refers(self, probability: float) -> bool:
        """Whether a photograph with this probability is sent to a specialist."""
        return probability >= self.value


def chosen_threshold(
    description: ModelDescription, point: str = "", own: float | None = None
) -> Threshold:
    """The user's own threshold, the point that the user named, or the model's own point."""
    if own is not None:
        if point:
            raise InputError("give an operating point or a threshold, not both")
        # Nothing is at least nan, so that nobody would be referred.
        if not 0 <= own <= 1:
            raise InputError(f"a threshold is a probability from 0 to 1; {own} is none")
        return Threshold(own)
    name = point or description.point
    for known in description.points:
        if known.name == name:
            return Threshold(known.threshold, known.name)
    if not description.points:
        raise InputError(
            f"the model {description.name} has no operating points: give a --threshold"
        )
    names = [known.name for known in description.points]
    if name:
        raise InputError(f"the model has no operating point '{name}': {did_you_mean(name, names)}")
    raise InputError(f"the model prefers no operating point: give --point, one of {names}")
