"""POST /invocations: what the model says of an image, or of several."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse
from starlette.routing import Route

from prumo.model.preprocessing.bad_image import BadImageError, TooManyPixelsError
from prumo.serve.body import BodyLimits, images_in
from prumo.serve.http.body_stream import read_body
from prumo.serve.http.refusal import too_large, unreadable_image
from prumo.serve.work.prediction import failure_document, prediction_document
from prumo.serve.work.wish import Wish, wish_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from prumo.serve.body import BodyImages
    from prumo.serve.service import Service
    from prumo.serve.work.engine import Engine
    from prumo.serve.work.job import Outcome


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
