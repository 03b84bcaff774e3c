"""The HTTP application: its routes, and the answers to images."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING, Any, Never

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from prumo.message import Message
from prumo.report.language import LANGUAGES, Language, english, language
from prumo_serve.preprocessing.decoding import BadImageError
from prumo_serve.server import open_inference
from prumo_serve.server.bodies import images_in
from prumo_serve.server.boundary import Boundary, read_body
from prumo_serve.server.metrics import CONTENT_TYPE
from prumo_serve.server.models import ErrorDetail, ListedError, ModelResponse, Timings, TotalTimings
from prumo_serve.server.refusal import Refusal, refused_image, wrong_values
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from pydantic import BaseModel
    from starlette.requests import Request

    from prumo_serve.server.bodies import BodyImage
    from prumo_serve.server.engine import Engine
    from prumo_serve.server.model_holder import ServedModel
    from prumo_serve.server.queue import Outcome
    from prumo_serve.server.service import Service

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

_PAGE_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_MOST_LANGUAGE_CHARACTERS = 1000
WARM_UP_HEADER = "x-prumo-warm-up-seconds"
"""Who times a start from outside cannot tell the first computation from loading."""


def create_app(service: Service) -> Starlette:
    """The application of one process; its model is loaded from the application's start on."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        service.begin_loading()
        yield
        service.close()

    routes = all_routes()
    paths: dict[object, str] = {route.endpoint: route.path for route in routes}
    app = Starlette(
        routes=routes,
        middleware=[Middleware(Boundary, service=service, routes=paths)],
        exception_handlers={HTTPException: _refuse},
        lifespan=lifespan,
    )
    app.state.service = service
    # A redirection would cite the host that the sender named.
    app.router.redirect_slashes = False
    return app


@dataclass(frozen=True)
class RequestOptions:
    """What the query of an address asks for."""

    language: Language
    heat_map: bool


async def invoke(request: Request) -> ModelResponse:
    """Answer one image with a prediction, and a list with a list."""
    began = perf_counter()
    service: Service = request.app.state.service
    engine = service.engine
    options = await request_options(request.query_params, engine)
    with service.bodies.share() as take:
        body = await read_body(request, service.settings.limits, take)
        content_type = request.headers.get("content-type", "")
        read = partial(images_in, body, content_type, service.settings.limits)
        # An encoded image is the body itself; all other bodies take time to be read.
        given = read() if content_type.startswith("image/") else await engine.call(read)
        contents = [image.content for image in given.images]
        outcomes = await engine.ask(contents, heat_maps=options.heat_map)
    if given.is_list:
        found = [
            await _listed(image, outcome, options, service)
            for image, outcome in zip(given.images, outcomes, strict=True)
        ]
        several = service.model.predictions.several
        latencies = _latencies(outcomes, began)
        return ModelResponse(
            several.model_construct(
                predictions=found, **latencies, boot_id=service.settings.boot_id
            )
        )
    outcome = outcomes[0]
    if isinstance(outcome, BadImageError):
        raise refused_image(outcome.kind, options.language.say(outcome.sentence))
    fields = await _fields(outcome, options, service)
    latencies = _latencies([outcome], began)
    timings = TotalTimings.model_construct(
        **_timings(outcome), total_seconds=latencies["requestLatency"]
    )
    one = service.model.predictions.one
    return ModelResponse(
        one.model_construct(
            **fields, timings=timings, **latencies, boot_id=service.settings.boot_id
        )
    )


async def request_options(query: Mapping[str, str], engine: Engine) -> RequestOptions:
    """The options in the query of an address; one with a wrong value is refused."""
    heat_map = query.get("heat_map", "false").lower()
    if heat_map not in _BOOLEANS:
        raise wrong_values("heat_map must be true or false")
    tag = query.get("lang", "en")
    if tag.lower() not in {known.lower() for known in LANGUAGES}:
        raise wrong_values(f"lang must be one of {', '.join(LANGUAGES)}")
    # The first time, reading translations takes longer than a request may hold up others.
    chosen = english() if tag == "en" else await engine.call(partial(language, tag))
    return RequestOptions(chosen, _BOOLEANS[heat_map])


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
        fields |= _heat_map(model, outcome, options.language)
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


def _heat_map(model: ServedModel, outcome: Outcome, language: Language) -> dict[str, str | None]:
    if outcome.heat_map is not None and outcome.prepared.picture is not None:
        from prumo_serve.heat_map import heat_map_url  # noqa: PLC0415 (few ask for one)

        return {"heat_map": heat_map_url(outcome.prepared.picture, outcome.heat_map)}
    if model.manifest.heat_map is None:
        reason = Message("the model was packaged without heat maps")
    elif model.heat_map is None:
        reason = Message("the server was started without heat maps")
    else:
        reason = Message("the photograph cannot be judged, so that there is nothing to show")
    return {"heat_map": None, "heat_map_reason": language.say(reason)}


def _latencies(outcomes: Sequence[Outcome | BadImageError], began: float) -> dict[str, Any]:
    """As clients of earlier servers expect them: in seconds."""
    predictions = [one.predict_seconds for one in outcomes if not isinstance(one, BadImageError)]
    return {
        "requestLatency": round(perf_counter() - began, 6),
        "predictionLatency": max(predictions, default=0.0),
    }


def all_routes() -> list[Route]:
    """Everything that the server answers."""
    return [
        Route("/ping", ping),
        Route("/invocations", invoke, methods=["POST"]),
        *open_inference.ROUTES,
        Route("/metrics", metrics),
        Route("/openapi.json", openapi),
        Route("/", page),
    ]


async def ping(request: Request) -> Response:
    """SageMaker's question: ready only if a request that came now would be answered well."""
    service: Service = request.app.state.service
    service.require_ready()
    models = service.model.predictions
    return ModelResponse(
        models.ready.model_construct(status="ready", model=models.name),
        headers={WARM_UP_HEADER: f"{service.model.warm_up_seconds:.6f}"},
    )


async def metrics(request: Request) -> Response:
    """What was counted since the start, for Prometheus."""
    service: Service = request.app.state.service
    text = service.metrics.text(
        is_ready=not service.why_not_ready(), waiting_images=service.waiting_images
    )
    return Response(text, headers={"content-type": CONTENT_TYPE})


async def openapi(request: Request) -> Response:
    """Every route, body and answer, described for the model that is served."""
    from prumo_serve.server.openapi import openapi_document  # noqa: PLC0415 (few ask for it)

    service: Service = request.app.state.service
    return JSONResponse(openapi_document(service.model, service.settings.limits))


async def page(request: Request) -> Response:
    """The page for people, in the language that is asked for or that the browser prefers."""
    service: Service = request.app.state.service
    header = request.headers.get("accept-language", "")
    tag = accepted_language(request.query_params.get("lang", ""), header)
    return await run_in_threadpool(page_response, service, tag)


def page_response(service: Service, tag: str) -> HTMLResponse:
    """The page in a language, or one that waits until the model is loaded."""
    # Templates and translations: a server that nobody looks at does without them.
    from prumo_serve.server.page import page, waiting_page  # noqa: PLC0415

    status, headers = HTTPStatus.OK, dict(_PAGE_HEADERS)
    try:
        model = service.model
    except Refusal as refusal:
        made, status = waiting_page(tag), HTTPStatus.SERVICE_UNAVAILABLE
        headers |= refusal.headers
    else:
        made = page(
            model.manifest,
            tag,
            has_heat_maps=model.heat_map is not None,
            most_bytes=service.settings.limits.body_bytes,
        )
    headers["content-security-policy"] = made.content_security_policy
    return HTMLResponse(made.html, status, headers)


def accepted_language(wanted: str, header: str) -> str:
    """The tag of the wanted language, or else of the first that `Accept-Language` names.

    >>> accepted_language("", "fr, pt;q=0.8, en;q=0.5")
    'pt-BR'
    """
    ranges = [part.partition(";") for part in header[:_MOST_LANGUAGE_CHARACTERS].split(",")]
    weights = [(_language_weight(parameter), tag) for tag, _, parameter in ranges]
    weights.sort(key=lambda one: one[0], reverse=True)
    # Without the country: who reads European Portuguese reads Brazilian too.
    known = {tag.lower().partition("-")[0]: tag for tag in LANGUAGES}
    for tag in (wanted, *(tag for weight, tag in weights if weight > 0)):
        if (family := tag.strip().lower().partition("-")[0]) in known:
            return known[family]
    return LANGUAGES[0]


def _language_weight(parameter: str) -> float:
    try:
        return float(parameter.partition("=")[2] or 1)
    except ValueError:
        return 0.0


async def _refuse(_request: Request, error: Exception) -> Never:
    """What Starlette refuses by itself, in the form of all other errors."""
    if not isinstance(error, HTTPException):
        raise TypeError(f"{type(error).__name__} is not a refusal of Starlette's")
    status = HTTPStatus(error.status_code)
    message = f"{status.phrase}: {status.description}"
    headers = dict(error.headers or {})
    if "Allow" in headers:
        # Starlette joins a set, whose order differs from start to start.
        headers["Allow"] = ", ".join(sorted(headers["Allow"].split(", ")))
    raise Refusal(status, status.name.lower(), message, headers)
