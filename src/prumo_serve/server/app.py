"""The application: all routes behind one boundary, and what starts and ends with it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Never

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from prumo.report.language import LANGUAGES
from prumo_serve.server import invocations, open_inference
from prumo_serve.server.boundary import Boundary
from prumo_serve.server.metrics import CONTENT_TYPE
from prumo_serve.server.models import ModelResponse
from prumo_serve.server.refusal import Refusal, not_ready

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from prumo_serve.server.service import Service

_PAGE_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_MOST_LANGUAGE_CHARACTERS = 1000


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


def all_routes() -> list[Route]:
    """Everything that the server answers."""
    return [
        Route("/ping", ping),
        *invocations.ROUTES,
        *open_inference.ROUTES,
        Route("/metrics", metrics),
        Route("/openapi.json", openapi),
        Route("/", page),
    ]


async def ping(request: Request) -> Response:
    """SageMaker's question: ready only if a request that came now would be answered well.

    Raises:
        Refusal: It would not.
    """
    service: Service = request.app.state.service
    if reason := service.why_not_ready():
        raise not_ready(reason)
    models = service.model.predictions
    return ModelResponse(models.ready.model_construct(status="ready", model=models.name))


async def metrics(request: Request) -> Response:
    """What was counted since the start, for Prometheus."""
    service: Service = request.app.state.service
    text = service.metrics.text(
        is_ready=not service.why_not_ready(), waiting_images=service.waiting_images
    )
    return Response(text, headers={"content-type": CONTENT_TYPE})


async def openapi(request: Request) -> Response:
    """Every route, body and answer, described for the model that is served.

    Raises:
        Refusal: The model has not been loaded yet.
    """
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
    from prumo_serve.server.page import Served, page, waiting_page  # noqa: PLC0415

    status, headers = HTTPStatus.OK, dict(_PAGE_HEADERS)
    try:
        model = service.model
    except Refusal as refusal:
        made, status = waiting_page(tag), HTTPStatus.SERVICE_UNAVAILABLE
        headers |= refusal.headers
    else:
        most_bytes = service.settings.limits.body_bytes
        made = page(Served(model.manifest, model.heat_map is not None, most_bytes), tag)
    headers["content-security-policy"] = made.content_security_policy
    return HTMLResponse(made.html, status, headers)


def accepted_language(wanted: str, header: str) -> str:
    """The tag of the wanted language, or else of the first that `Accept-Language` names.

    >>> accepted_language("", "fr, pt;q=0.8, en;q=0.5")
    'pt-BR'
    """
    ranges = [_language_range(part) for part in header[:_MOST_LANGUAGE_CHARACTERS].split(",")]
    ranges.sort(key=lambda one: one[0], reverse=True)
    for tag in (wanted, *(tag for weight, tag in ranges if weight > 0)):
        for known in LANGUAGES:
            if _language_family(tag) == _language_family(known):
                return known
    return LANGUAGES[0]


def _language_range(part: str) -> tuple[float, str]:
    tag, _, weight = part.partition(";")
    try:
        return float(weight.partition("=")[2] or 1), tag
    except ValueError:
        return 0.0, tag


def _language_family(tag: str) -> str:
    """The language without its country: who reads European Portuguese reads Brazilian too."""
    return tag.strip().lower().partition("-")[0]


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
