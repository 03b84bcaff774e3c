"""POST /invocations: what the model says of an image, or of several."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse
from starlette.routing import Route

from prumo.message import Message
from prumo.report.language import LANGUAGES, Language, english, language
from prumo_serve.preprocessing.decoding import BadImageError, TooManyPixelsError
from prumo_serve.server.body import BodyLimits, images_in
from prumo_serve.server.boundary import read_body
from prumo_serve.server.refusal import too_large, unreadable_image, wrong_values
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from prumo_serve.server.body import BodyImages
    from prumo_serve.server.engine import Engine
    from prumo_serve.server.model_holder import ServedModel
    from prumo_serve.server.queue import Outcome
    from prumo_serve.server.service import Service


def prediction_document(model: ServedModel, outcome: Outcome, wish: Wish) -> dict[str, Any]:
    """As JSON has it; `timings` without the total, which only the end knows."""
    manifest = model.manifest
    task = task_named(manifest.task)
    answer = task.answer(manifest, outcome.scores, outcome.prepared)
    document = task.document(answer, wish.language)
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
    from prumo_serve.heat_map import heat_map_url  # noqa: PLC0415 (few ask for one)

    return heat_map_url(outcome.prepared.picture, outcome.heat_map)


def _why_no_heat_map(model: ServedModel) -> Message:
    if model.manifest.heat_map is None:
        return Message("the model was packaged without heat maps")
    if model.heat_map is None:
        return Message("the server was started without heat maps")
    return Message("the photograph cannot be judged, so that there is nothing to show")


_ANSWERS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class Wish:
    """How an answer is to be told."""

    language: Language
    heat_map: bool


async def wish_of(query: Mapping[str, str], engine: Engine) -> Wish:
    """The wish in the query of an address.

    Raises:
        Refusal: It wants what there is not.
    """
    heat_map = query.get("heat_map", "false").lower()
    if heat_map not in _ANSWERS:
        raise wrong_values("heat_map must be true or false")
    tag = query.get("lang", "en")
    if tag.lower() not in {known.lower() for known in LANGUAGES}:
        raise wrong_values(f"lang must be one of {', '.join(LANGUAGES)}")
    # The first time, reading translations takes longer than a request may hold up others.
    told = english() if tag == "en" else await engine.call(partial(language, tag))
    return Wish(told, _ANSWERS[heat_map])


async def invoke(request: Request) -> JSONResponse:
    """Answer one image with a prediction, and a list with a list.

    Raises:
        Refusal: The request cannot be answered.
    """
    began = perf_counter()
    service: Service = request.app.state.service
    engine = service.engine
    wish = await wish_of(request.query_params, engine)
    with service.bodies.share() as share:
        body = await read_body(request, service.settings.limits, share)
        given = await _images(request, body, engine, service)
        contents = [image.content for image in given.images]
        outcomes = await engine.ask(contents, heat_maps=wish.heat_map)
    documents = [await _document(outcome, wish, service) for outcome in outcomes]
    if not given.is_list:
        return _single(outcomes[0], documents[0], began)
    named = [
        {"name": image.name, **document} if image.name else document
        for image, document in zip(given.images, documents, strict=True)
    ]
    return JSONResponse({"predictions": named, **_latencies(outcomes, began)})


ROUTES = [Route("/invocations", invoke, methods=["POST"])]


async def _images(request: Request, body: bytes, engine: Engine, service: Service) -> BodyImages:
    content_type = request.headers.get("content-type", "")
    limits = BodyLimits(pixels=service.settings.limits.pixels)
    read = partial(images_in, body, content_type, limits)
    # An image is taken as it is; all other bodies take time to be read.
    return read() if content_type.startswith("image/") else await engine.call(read)


async def _document(
    outcome: Outcome | BadImageError, wish: Wish, service: Service
) -> dict[str, Any]:
    if isinstance(outcome, BadImageError):
        return failure_document(outcome, wish.language)
    tell = partial(prediction_document, service.model, outcome, wish)
    # Drawing takes time; all else is quick.
    return tell() if outcome.heat_map is None else await service.engine.call(tell)


def _single(
    outcome: Outcome | BadImageError, document: dict[str, Any], began: float
) -> JSONResponse:
    if isinstance(outcome, TooManyPixelsError):
        raise too_large(document["error"]["message"])
    if isinstance(outcome, BadImageError):
        raise unreadable_image(document["error"]["message"])
    latencies = _latencies([outcome], began)
    document["timings"]["total_seconds"] = latencies["requestLatency"]
    return JSONResponse(document | latencies)


def _latencies(outcomes: list[Outcome | BadImageError], began: float) -> dict[str, float]:
    """As the clients of the study expect them that this server succeeds: in seconds."""
    predictions = [one.predict_seconds for one in outcomes if not isinstance(one, BadImageError)]
    return {
        "requestLatency": round(perf_counter() - began, 6),
        "predictionLatency": max(predictions, default=0.0),
    }
