"""GET /ping: whether the server is ready, as SageMaker asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

from prumo_serve.server.refusal import not_ready

if TYPE_CHECKING:
    from starlette.requests import Request

    from prumo_serve.server.service import Service


async def ping(request: Request) -> JSONResponse:
    """Ready only if a request that came now would be answered well.

    Raises:
        Refusal: It would not.
    """
    service: Service = request.app.state.service
    if reason := service.why_not_ready():
        raise not_ready(reason)
    manifest = service.model.manifest
    return JSONResponse(
        {"status": "ready", "model": {"name": manifest.name, "version": manifest.version}}
    )


ROUTES = [Route("/ping", ping)]
