"""The grades of diabetic retinopathy, and who is referred to a specialist, how urgently."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from prumo.errors import InputError, did_you_mean
from prumo.message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.language import Language
    from prumo_retina.model import ModelDescription


GRADE_COUNT = 5
REFERABLE_FROM = 2
"""International clinical scale: moderate retinopathy and worse is referable."""


class Grade(IntEnum):
    """A step of the International Clinical Diabetic Retinopathy scale (Wilkinson 2003)."""

    NONE = 0
    MILD = 1
    MODERATE = 2
    SEVERE = 3
    PROLIFERATIVE = 4

    @property
    def is_referable(self) -> bool:
        """Whether a person with this grade should see a specialist."""
        return self >= REFERABLE_FROM

    @property
    def title(self) -> str:
        """In English; the key of its translations."""
        return _TITLES[self]


_TITLES = {
    Grade.NONE: "no apparent retinopathy",
    Grade.MILD: "mild non-proliferative retinopathy",
    Grade.MODERATE: "moderate non-proliferative retinopathy",
    Grade.SEVERE: "severe non-proliferative retinopathy",
    Grade.PROLIFERATIVE: "proliferative retinopathy",
}


DECISION_SUPPORT = Message("It is decision support and no diagnosis: a person decides.")
OTHER_DISEASES = Message(
    "It does not judge macular oedema, nor glaucoma, occlusions or any other disease of the eye. A "
    "photograph that is not referred may still show one."
)
CAUTION = Message(
    "Decision support for diabetic retinopathy, not a diagnosis: a health professional decides. "
    "Macular oedema is not judged."
)
UNGRADABLE_IS_REFERRED = Message("A photograph that cannot be judged counts as a referral.")
HIGH_SENSITIVITY = "high_sensitivity"
BALANCED = "balanced"
HIGH_SPECIFICITY = "high_specificity"
DEFAULT_POINT = HIGH_SENSITIVITY
"""A missed patient may lose sight; one referred in vain loses an afternoon."""
_POINT_TITLES = {
    HIGH_SENSITIVITY: "high sensitivity",
    BALANCED: "balanced",
    HIGH_SPECIFICITY: "high specificity",
}
POINT_NAMES = tuple(_POINT_TITLES)
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


def point_label(name: str, language: Language) -> str:
    """The title of an operating point in a language."""
    return language.told(point_title(name))


def point_title(name: str) -> Message | str:
    """What an operating point is called; its name where it is not one of ours."""
    return Message(_POINT_TITLES[name]) if name in _POINT_TITLES else name
