"""GET /openapi.json: what the server takes and gives, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request

    from prumo_serve.server.service import Service


async def openapi(request: Request) -> JSONResponse:
    """Describe every route, body and answer for the model that is served.

    Raises:
        Refusal: The model has not been loaded yet.
    """
    from prumo_serve.server.openapi import openapi_document  # noqa: PLC0415 (few ask for it)

    service: Service = request.app.state.service
    return JSONResponse(openapi_document(service.model.manifest, service.settings.limits))


ROUTES = [Route("/openapi.json", openapi)]
