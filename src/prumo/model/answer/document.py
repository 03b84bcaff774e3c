"""An answer as a JSON document, with its words in the reader's language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prumo.model.answer import Answer, Referral
    from prumo.report.language import Language
    from prumo.retina.fundus.quality import Quality


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
