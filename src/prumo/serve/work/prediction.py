"""What is told of one image: the answer, which model gave it, and what took how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.message import Message
from prumo.model.answer import answer
from prumo.model.answer.document import answer_document

if TYPE_CHECKING:
    from prumo.model.preprocessing.bad_image import BadImageError
    from prumo.report.language import Language
    from prumo.serve.model.served import ServedModel
    from prumo.serve.work.job import Outcome
    from prumo.serve.work.wish import Wish


def prediction_document(model: ServedModel, outcome: Outcome, wish: Wish) -> dict[str, Any]:
    """As JSON has it; `timings` without the total, which only the end knows."""
    manifest = model.manifest
    document = answer_document(answer(manifest, outcome.scores, outcome.prepared), wish.language)
    if wish.heat_map:
        document["heat_map"] = _heat_map(outcome)
        if document["heat_map"] is None:
            document["heat_map_reason"] = wish.language.say(_why_no_heat_map(model))
    return document | {
        "model": {"name": manifest.name, "version": manifest.version},
        "timings": {
            "decode_seconds": round(outcome.prepared.decode_seconds, 6),
            "preprocess_seconds": round(outcome.prepared.preprocess_seconds, 6),
            "queue_seconds": round(outcome.queue_seconds, 6),
            "predict_seconds": round(outcome.predict_seconds, 6),
        },
        "batch_size": outcome.batch_size,
    }


def failure_document(error: BadImageError, language: Language) -> dict[str, Any]:
    """Of one image among others that cannot be read."""
    return {"error": {"kind": error.kind, "message": language.say(error.sentence)}}


def _heat_map(outcome: Outcome) -> str | None:
    if outcome.heat_map is None or outcome.prepared.picture is None:
        return None
    from prumo.model.answer.heat_map import heat_map_url  # noqa: PLC0415 (few ask for one)

    return heat_map_url(outcome.prepared.picture, outcome.heat_map)


def _why_no_heat_map(model: ServedModel) -> Message:
    if model.manifest.heat_map is None:
        return Message("the model was packaged without heat maps")
    if model.heat_map is None:
        return Message("the server was started without heat maps")
    return Message("the photograph cannot be judged, so that there is nothing to show")
