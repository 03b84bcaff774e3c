"""What a row of scores means: a label with its probability, and for a retina what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.model.answer.probability import probabilities_of
from prumo.retina.grade import REFERABLE_FROM, Grade
from prumo.retina.prediction.urgency import Urgency, threat_probability, urgency_of

if TYPE_CHECKING:
    import numpy as np

    from prumo.model.manifest import Manifest
    from prumo.model.preprocessing import PreparedImage
    from prumo.retina.fundus.quality import Quality

_MORE_PROBABLE_THAN_NOT = 0.5
_YES = 1


@dataclass(frozen=True)
class Referral:
    """Whether a specialist should see the person, and how soon."""

    refer: bool
    urgency: Urgency
    threshold: float
    point: str
    """The operating point of the threshold; empty where the model has none."""
    probability: float | None = None
    """None where the photograph cannot be judged."""
    grade: Grade | None = None
    threat_probability: float | None = None
    """Of severe or proliferative retinopathy, where the model knows grades."""


@dataclass(frozen=True)
class Answer:
    """What a model says of one image."""

    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    """One for each label; none where the photograph cannot be judged."""
    place: int | None
    """Of the answer among the labels."""
    quality: Quality | None = None
    referral: Referral | None = None
    """Only models of a retina decide on one."""

    @property
    def label(self) -> str | None:
        """The answer in a word; None where there is none."""
        return None if self.place is None else self.labels[self.place]

    @property
    def probability(self) -> float | None:
        """Of the label."""
        return None if self.place is None else self.probabilities[self.place]


def answer(manifest: Manifest, scores: np.ndarray | None, prepared: PreparedImage) -> Answer:
    """The answer to one image.

    Args:
        manifest: Of the model.
        scores: A row of the network's output; None where it was not asked because the photograph
            cannot be judged, which counts as a referral.
        prepared: The image as the network saw it.

    Raises:
        ScoresError: The network gave something else than the manifest says.
    """
    if scores is None:
        referral = None if manifest.task == "classification" else _unjudged(manifest)
        return Answer(manifest.labels, (), None, prepared.quality, referral)
    probabilities = probabilities_of(scores, manifest.output, len(manifest.labels))
    place = probabilities.index(max(probabilities))
    if manifest.task == "classification":
        return Answer(manifest.labels, probabilities, place, prepared.quality)
    if manifest.task == "referral":
        referral = _referral(manifest, probabilities[_YES], ())
        # The threshold decides, and the label says what was decided.
        place = int(referral.refer)
    else:
        referral = _referral(manifest, sum(probabilities[REFERABLE_FROM:]), probabilities)
    return Answer(manifest.labels, probabilities, place, prepared.quality, referral)


def deciding_point(manifest: Manifest) -> tuple[float, str]:
    """The threshold on the probability of a referral and its point's name.

    A model without points refers what is more probable than not.
    """
    for point in manifest.points:
        if point.name == manifest.point:
            return point.threshold, point.name
    return _MORE_PROBABLE_THAN_NOT, ""


def _referral(manifest: Manifest, probability: float, grades: tuple[float, ...]) -> Referral:
    threshold, point = deciding_point(manifest)
    refer = probability >= threshold
    return Referral(
        refer=refer,
        urgency=urgency_of(refer, grades),
        threshold=threshold,
        point=point,
        probability=probability,
        grade=Grade(grades.index(max(grades))) if grades else None,
        threat_probability=threat_probability(grades) if grades else None,
    )


def _unjudged(manifest: Manifest) -> Referral:
    threshold, point = deciding_point(manifest)
    return Referral(True, Urgency.UNGRADABLE, threshold, point)
