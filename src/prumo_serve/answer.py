"""What a row of scores means: a label with its probability, and for a retina what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prumo_retina.grade import REFERABLE_FROM, Grade
from prumo_retina.referral import Urgency, threat_probability, urgency_of
from prumo_serve.probability import probabilities_of

if TYPE_CHECKING:
    import numpy as np

    from prumo.report.language import Language
    from prumo_retina.fundus.quality import Quality
    from prumo_serve.manifest import Manifest
    from prumo_serve.preprocessing import PreparedImage


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


def answer_document(answer: Answer, language: Language) -> dict[str, Any]:
    """What `POST /invocations` tells of one image, without model and timings.

    What programs read (`label`, `urgency`, `verdict`) is the same in all languages; the texts
    beside it are for people.
    """
    document: dict[str, Any] = {
        "label": answer.label,
        "label_text": None if answer.label is None else language.say(answer.label),
        "probability": answer.probability,
        "probabilities": dict(zip(answer.labels, answer.probabilities, strict=False)),
    }
    if answer.referral:
        document |= _referral_document(answer.referral, language)
    if answer.quality:
        document["quality"] = quality_document(answer.quality, language)
    return document


def quality_document(quality: Quality, language: Language) -> dict[str, str]:
    """Whether a photograph can be judged, and if not, why."""
    return {
        "verdict": quality.verdict.value,
        "verdict_text": language.say(quality.verdict.label),
        "reason": language.told(quality.reason),
    }


def _referral_document(referral: Referral, language: Language) -> dict[str, Any]:
    return {
        "grade": None if referral.grade is None else int(referral.grade),
        "refer": referral.refer,
        "referral_probability": referral.probability,
        "severe_or_proliferative_probability": referral.threat_probability,
        "threshold": referral.threshold,
        "point": referral.point,
        "urgency": referral.urgency.value,
        "urgency_text": language.say(referral.urgency.label),
    }
