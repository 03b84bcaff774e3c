"""GET /: the page for people."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse
from starlette.routing import Route

from prumo.report.language import LANGUAGES
from prumo_serve.server.refusal import Refusal

if TYPE_CHECKING:
    from starlette.requests import Request

    from prumo_serve.server.service import Service


_MOST_CHARACTERS = 1000


def accepted_language(wanted: str, header: str) -> str:
    """The tag of the wanted language, or else of the first that `Accept-Language` names.

    >>> accepted_language("", "fr, pt;q=0.8, en;q=0.5")
    'pt-BR'
    """
    ranges = [_range(part) for part in header[:_MOST_CHARACTERS].split(",")]
    preferred = [tag for weight, tag in sorted(ranges, key=_weight, reverse=True) if weight > 0]
    for tag in (wanted, *preferred):
        for known in LANGUAGES:
            if _family(tag) == _family(known):
                return known
    return LANGUAGES[0]


def _range(part: str) -> tuple[float, str]:
    tag, _, weight = part.partition(";")
    try:
        return float(weight.partition("=")[2] or 1), tag
    except ValueError:
        return 0.0, tag


def _weight(item: tuple[float, str]) -> float:
    return item[0]


def _family(tag: str) -> str:
    """The language without its country: who reads European Portuguese reads Brazilian too."""
    return tag.strip().lower().partition("-")[0]


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
    from prumo_serve.server.page import Served, page, waiting_page  # noqa: PLC0415

    status, headers = HTTPStatus.OK, dict(_HEADERS)
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
