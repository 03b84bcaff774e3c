"""image/jpeg and image/png: the body is the image. What it holds decides, not how it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_serve.server.body import BodyImage, BodyImages

if TYPE_CHECKING:
    from prumo_serve.server.body import BodyLimits


def read(body: bytes, _content_type: str, _limits: BodyLimits) -> BodyImages:
    """The body as it is."""
    return BodyImages((BodyImage(body),), is_list=False)
