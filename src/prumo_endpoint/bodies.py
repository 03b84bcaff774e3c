"""The bodies that are sent to a server: one that it should take, and some that it cannot."""

from __future__ import annotations

import io
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw

from prumo.errors import InputError, StorageError
from prumo_endpoint.exchange import Request

INVOCATIONS = "/invocations"
UNKNOWN_TYPE = "application/octet-stream"
_SIDE_PIXELS = 512
_TEXT_TYPES = ("text/", "application/json", "application/xml")


@dataclass(frozen=True)
class Body:
    """The content of a request to /invocations and its type."""

    content: bytes
    content_type: str
    is_drawn: bool = False
    """Whether Prumo drew it, so that a server may rightly expect something else."""

    def request(self, headers: Mapping[str, str] | None = None) -> Request:
        """A request with this body."""
        sent = {"Content-Type": self.content_type, **(headers or {})}
        return Request("POST", INVOCATIONS, sent, self.content)

    def grown(self, size_bytes: int) -> Body:
        """The same body, padded at its end with bytes that readers skip."""
        filler = b" " if self.content_type.startswith(_TEXT_TYPES) else b"\0"
        return Body(self.content.ljust(size_bytes, filler), self.content_type)


def drawn_body() -> Body:
    """A drawn photograph: a lit disk on black."""
    picture = Image.new("RGB", (_SIDE_PIXELS, _SIDE_PIXELS))
    draw = ImageDraw.Draw(picture)
    for inset in range(20, _SIDE_PIXELS // 2, 4):
        light = 60 + inset // 2
        edge = (inset, inset, _SIDE_PIXELS - inset, _SIDE_PIXELS - inset)
        draw.ellipse(edge, fill=(light, light // 2, light // 4))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=90)
    return Body(file.getvalue(), "image/jpeg", is_drawn=True)


def read_body(path: Path, content_type: str | None = None) -> Body:
    """A user's own file, of the given type or that of its file name."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    found = content_type or mimetypes.guess_type(path.name)[0] or UNKNOWN_TYPE
    if not (found.isascii() and found.isprintable()):
        raise InputError(f"{found!r} is not a content type; right is one such as image/jpeg")
    return Body(content, found)


def bad_bodies(body: Body) -> dict[str, Body]:
    """Description → a body of the right type that no server can read."""
    noise = bytes(range(256)) * 4
    return {
        "no byte at all": Body(b"", body.content_type),
        "meaningless bytes": Body(noise, body.content_type),
        "JSON that breaks off": Body(b'{"instances": [[1, 2', "application/json"),
    }
