"""Bodies of requests: one file for each content type."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from prumo_serve.server.refusal import malformed, unsupported_type
from prumo_serve.task import MOST_PIXELS

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

_MODULES = {
    "image/jpeg": "encoded",
    "image/png": "encoded",
    "application/x-npy": "npy",
    "application/json": "json_document",
    "multipart/form-data": "form",
}
_ALIASES = {"image/jpg": "image/jpeg"}
"""What is no registered type, but often sent."""
CONTENT_TYPES = tuple(_MODULES)
MOST_IMAGES = 64


@dataclass(frozen=True)
class BodyLimits:
    """What a body may hold, however few bytes it has."""

    images: int = MOST_IMAGES
    pixels: int = MOST_PIXELS
    """Of one image."""


@dataclass(frozen=True)
class BodyImage:
    """An image as it was sent, not decoded yet."""

    content: bytes | np.ndarray
    """A JPEG or PNG, or pixels from 0 to 255: (height, width, RGB), uint8 or float32."""
    name: str = ""
    """What the sender calls it, printable or not."""


@dataclass(frozen=True)
class BodyImages:
    """All images of a body, one at least."""

    images: tuple[BodyImage, ...]
    is_list: bool
    """Whether the sender made a list, and so expects one, even of a single image."""


def images_in(body: bytes, content_type: str, limits: BodyLimits) -> BodyImages:
    """The images of a request.

    Raises:
        Refusal: The body is not what its content type says, or holds more than it may.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    media_type = _ALIASES.get(media_type, media_type)
    if media_type not in _MODULES:
        raise unsupported_type(f"the content type must be one of {', '.join(CONTENT_TYPES)}")
    if not body:
        raise malformed("the body is empty")
    module = import_module(f"prumo_serve.server.body.{_MODULES[media_type]}")
    read: Callable[[bytes, str, BodyLimits], BodyImages] = module.read
    return read(body, content_type, limits)
