"""What the server answers: one file for each kind of question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_serve.server.routes import invocations, metrics, open_inference, openapi, page, ping

if TYPE_CHECKING:
    from starlette.routing import Route

_FILES = (ping, invocations, open_inference, metrics, openapi, page)


def all_routes() -> list[Route]:
    """Of every file, which lists them as `ROUTES`."""
    return [route for file in _FILES for route in file.ROUTES]
