"""From which probability on a photograph is referred: an operating point, or one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from prumo.retina.model.description import ModelDescription


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
