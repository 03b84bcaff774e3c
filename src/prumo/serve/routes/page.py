"""GET /: the page for people."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse
from starlette.routing import Route

from prumo.serve.http.accepted_language import accepted_language
from prumo.serve.http.refusal import Refusal

if TYPE_CHECKING:
    from starlette.requests import Request

    from prumo.serve.service import Service

_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


async def show(request: Request) -> HTMLResponse:
    """Show the page in the language that is asked for, or that the browser prefers."""
    service: Service = request.app.state.service
    header = request.headers.get("accept-language", "")
    tag = accepted_language(request.query_params.get("lang", ""), header)
    return await run_in_threadpool(_answer, service, tag)


ROUTES = [Route("/", show)]


def _answer(service: Service, tag: str) -> HTMLResponse:
    # Templates and translations: a server that nobody looks at does without them.
    from prumo.serve.page import Served, content_security_policy, page, waiting_page  # noqa: PLC0415

    headers = {**_HEADERS, "content-security-policy": content_security_policy()}
    try:
        model = service.model
    except Refusal as refusal:
        return HTMLResponse(
            waiting_page(tag), HTTPStatus.SERVICE_UNAVAILABLE, {**headers, **refusal.headers}
        )
    served = Served(model.manifest, model.heat_map is not None, service.settings.limits.body_bytes)
    return HTMLResponse(page(served, tag), headers=headers)
