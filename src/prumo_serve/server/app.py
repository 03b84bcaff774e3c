"""The application: all routes behind one boundary, and what begins and ends with it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Never

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from prumo_serve.server.boundary import Boundary
from prumo_serve.server.refusal import Refusal
from prumo_serve.server.routes import all_routes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from prumo_serve.server.service import Service


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


async def _refuse(_request: Request, error: Exception) -> Never:
    """What Starlette refuses by itself, in the form of all other errors."""
    if not isinstance(error, HTTPException):
        raise TypeError(f"{type(error).__name__} is no refusal of Starlette's")
    status = HTTPStatus(error.status_code)
    told = f"{status.phrase}: {status.description}"
    raise Refusal(status, status.name.lower(), told, error.headers or {})
