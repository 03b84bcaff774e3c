"""POST /invocations: what the model says of an image, or of several."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from prumo.message import Message
from prumo.report.language import LANGUAGES, Language, english, language
from prumo_serve.preprocessing.decoding import BadImageError, TooManyPixelsError
from prumo_serve.server.bodies import BodyLimits, images_in
from prumo_serve.server.boundary import read_body
from prumo_serve.server.models import ErrorDetail, ListedError, ModelResponse, Timings, TotalTimings
from prumo_serve.server.refusal import too_large, unreadable_image, wrong_values
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel
    from starlette.requests import Request

    from prumo_serve.server.bodies import BodyImage, BodyImages
    from prumo_serve.server.engine import Engine
    from prumo_serve.server.model_holder import ServedModel
    from prumo_serve.server.queue import Outcome
    from prumo_serve.server.service import Service

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class RequestOptions:
    """What the query of an address asks for."""

    language: Language
    heat_map: bool


async def invoke(request: Request) -> ModelResponse:
    """Answer one image with a prediction, and a list with a list.

    Raises:
        Refusal: The request cannot be answered.
    """
    began = perf_counter()
    service: Service = request.app.state.service
    engine = service.engine
    options = await request_options(request.query_params, engine)
    with service.bodies.share() as share:
        body = await read_body(request, service.settings.limits, share)
        given = await _images(request, body, engine, service)
        contents = [image.content for image in given.images]
        outcomes = await engine.ask(contents, heat_maps=options.heat_map)
    if given.is_list:
        found = [
            await _listed(image, outcome, options, service)
            for image, outcome in zip(given.images, outcomes, strict=True)
        ]
        several = service.model.predictions.several
        latencies = _latencies(outcomes, began)
        return ModelResponse(several.model_construct(predictions=found, **latencies))
    outcome = _readable(outcomes[0], options.language)
    fields = await _fields(outcome, options, service)
    latencies = _latencies([outcome], began)
    timings = TotalTimings.model_construct(
        **_timings(outcome), total_seconds=latencies["requestLatency"]
    )
    one = service.model.predictions.one
    return ModelResponse(one.model_construct(**fields, timings=timings, **latencies))


ROUTES = [Route("/invocations", invoke, methods=["POST"])]


async def request_options(query: Mapping[str, str], engine: Engine) -> RequestOptions:
    """The options in the query of an address.

    Raises:
        Refusal: One of them has a value that it cannot have.
    """
    heat_map = query.get("heat_map", "false").lower()
    if heat_map not in _BOOLEANS:
        raise wrong_values("heat_map must be true or false")
    tag = query.get("lang", "en")
    if tag.lower() not in {known.lower() for known in LANGUAGES}:
        raise wrong_values(f"lang must be one of {', '.join(LANGUAGES)}")
    # The first time, reading translations takes longer than a request may hold up others.
    chosen = english() if tag == "en" else await engine.call(partial(language, tag))
    return RequestOptions(chosen, _BOOLEANS[heat_map])


async def _images(request: Request, body: bytes, engine: Engine, service: Service) -> BodyImages:
    content_type = request.headers.get("content-type", "")
    limits = BodyLimits(pixels=service.settings.limits.pixels)
    read = partial(images_in, body, content_type, limits)
    # An encoded image is the body itself; all other bodies take time to be read.
    return read() if content_type.startswith("image/") else await engine.call(read)


async def _listed(
    image: BodyImage, outcome: Outcome | BadImageError, options: RequestOptions, service: Service
) -> BaseModel:
    """One of several; an image that cannot be read does not spoil the others."""
    name: dict[str, Any] = {"name": image.name} if image.name else {}
    if isinstance(outcome, BadImageError):
        message = options.language.say(outcome.sentence)
        error = ErrorDetail.model_construct(kind=outcome.kind, message=message)
        return ListedError.model_construct(**name, error=error)
    fields = await _fields(outcome, options, service)
    timings = Timings.model_construct(**_timings(outcome))
    return service.model.predictions.listed.model_construct(**name, **fields, timings=timings)


def _readable(outcome: Outcome | BadImageError, language: Language) -> Outcome:
    if isinstance(outcome, TooManyPixelsError):
        raise too_large(language.say(outcome.sentence))
    if isinstance(outcome, BadImageError):
        raise unreadable_image(language.say(outcome.sentence))
    return outcome


async def _fields(outcome: Outcome, options: RequestOptions, service: Service) -> dict[str, Any]:
    collect = partial(_prediction_fields, service.model, outcome, options)
    # Drawing takes time; all else is quick.
    return collect() if outcome.heat_map is None else await service.engine.call(collect)


def _prediction_fields(
    model: ServedModel, outcome: Outcome, options: RequestOptions
) -> dict[str, Any]:
    """The task's answer and what the server knows of it, without times."""
    task = task_named(model.manifest.task)
    answer = task.answer(model.manifest, outcome.scores, outcome.prepared)
    fields = task.document(answer, options.language)
    if options.heat_map:
        fields["heat_map"] = _heat_map(outcome)
        if fields["heat_map"] is None:
            fields["heat_map_reason"] = options.language.say(_why_no_heat_map(model))
    fields["model"] = model.predictions.name
    fields["batch_size"] = outcome.batch_size
    return fields


def _timings(outcome: Outcome) -> dict[str, Any]:
    return {
        "decode_seconds": round(outcome.prepared.decode_seconds, 6),
        "preprocess_seconds": round(outcome.prepared.preprocess_seconds, 6),
        "queue_seconds": round(outcome.queue_seconds, 6),
        "predict_seconds": round(outcome.predict_seconds, 6),
    }


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


def _latencies(outcomes: Sequence[Outcome | BadImageError], began: float) -> dict[str, Any]:
    """As clients of earlier servers expect them: in seconds."""
    predictions = [one.predict_seconds for one in outcomes if not isinstance(one, BadImageError)]
    return {
        "requestLatency": round(perf_counter() - began, 6),
        "predictionLatency": max(predictions, default=0.0),
    }
