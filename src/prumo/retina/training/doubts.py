"""Reasons not to trust a model that was just trained, told before anybody uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.retina.judge.operating_point import FEWEST_TO_EXPECT, TARGET
from prumo.retina.judge.roc import auc
from prumo.retina.model.probability import referral_probability

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.retina.judge.estimate import Estimate
    from prumo.retina.model.description import ModelDescription
    from prumo.retina.training.held_out import HeldOut

_CHANCE = 0.5


def doubts(
    description: ModelDescription, held_out: HeldOut, patients: Mapping[str, str]
) -> Iterator[str]:
    """What the held-out photographs say against a model; nothing where all is well.

    Args:
        description: of the model.
        held_out: the photographs that its thresholds were chosen on.
        patients: of each image, where they are known.
    """
    probability = referral_probability(held_out.scores, description.task, description.temperature)
    names = [patients.get(image, "") for image in held_out.images]
    area = auc(probability, held_out.referable, names if any(names) else None)
    # Below chance throughout is no better: nobody would turn the answers round.
    if area.low is None or area.low <= _CHANCE:
        yield (
            f"AUC {area.value:.3f} ({_interval(area)}) on {held_out.subset}: nothing shows yet "
            "that this model is better than chance"
        )
    yield from _few(held_out)
    point = next(point for point in description.points if point.name == description.point)
    if point.specificity <= 0:
        yield (
            f"{point.name}, the default point, refers everybody: not one {held_out.subset} "
            "photograph lies below its threshold that is not referable"
        )


def _few(held_out: HeldOut) -> Iterator[str]:
    referable = int(held_out.referable.sum())
    for count, kind, rate in (
        (referable, "referable", "sensitivity"),
        (len(held_out.images) - referable, "non-referable", "specificity"),
    ):
        if count < FEWEST_TO_EXPECT:
            yield (
                f"thresholds were chosen on {count} {kind} photographs: fewer than "
                f"{FEWEST_TO_EXPECT} cannot promise a {rate} of {TARGET} on new ones"
            )


def _interval(area: Estimate) -> str:
    if area.low is None or area.high is None:
        return "too few for an interval"
    return f"{area.low:.3f} to {area.high:.3f}"
