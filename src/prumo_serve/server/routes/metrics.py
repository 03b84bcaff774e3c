"""GET /metrics: counts and times for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from prumo_serve.server.metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from starlette.requests import Request

    from prumo_serve.server.service import Service


async def metrics(request: Request) -> Response:
    """Tell what was counted since the start."""
    service: Service = request.app.state.service
    text = service.metrics.text(
        is_ready=not service.why_not_ready(), waiting_images=service.waiting_images
    )
    return Response(text, headers={"content-type": CONTENT_TYPE})


ROUTES = [Route("/metrics", metrics)]
