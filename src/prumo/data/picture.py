"""One JPEG or PNG image: checked before it is decoded, brought to the channels of its set."""

from __future__ import annotations

import io
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile

from prumo.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_PIXELS = 89_478_485
"""A larger image is taken for a mistake or an attack: it would fill the memory when decoded."""
_MODES = {1: "L", 3: "RGB"}
_GREY = {"1", "L", "LA", "I;16", "I;16B"}
_COLOURED = {"P", "RGB", "RGBA", "CMYK"}
_KINDS: dict[bytes, type[ImageFile.ImageFile]] = {
    b"\xff\xd8\xff": JpegImageFile,
    b"\x89PNG\r\n\x1a\n": PngImageFile,
}
"""How each begins. Opened without Image.open, whose warning of large images is an error here."""


def picture_shape(content: bytes, name: str) -> tuple[int, int, int]:
    """Channels, height and width by the image's header; nothing is decoded."""
    picture = _opened(content, name)
    return (1 if picture.mode in _GREY else 3), picture.height, picture.width


def decoded(content: bytes, name: str, channels: int, size: int) -> np.ndarray:
    """The image as uint8 in the order (channel, row, column), square.

    Grey becomes colour by repeating it, colour becomes grey by its brightness, and transparency
    is left out.
    """
    picture = _opened(content, name)
    with _errors_of(name):
        # A JPEG may come at a half, a quarter or an eighth, as long as twice the size is left.
        picture.draft(None, (2 * size, 2 * size))
        whole = _in_mode(picture, _MODES[channels])
        pixels = np.asarray(whole.resize((size, size), Image.Resampling.BILINEAR))
    return pixels.reshape(size, size, channels).transpose(2, 0, 1)


def _in_mode(picture: Image.Image, mode: str) -> Image.Image:
    if picture.mode.startswith("I;16"):
        # Pillow would cut 16 bits at 255 and not scale them.
        picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    return picture if picture.mode == mode else picture.convert(mode)


def _opened(content: bytes, name: str) -> Image.Image:
    kind = next((kind for start, kind in _KINDS.items() if content.startswith(start)), None)
    if kind is None:
        raise DataError(f"{name}: is neither a JPEG nor a PNG image")
    with _errors_of(name):
        picture = kind(io.BytesIO(content))
    if picture.width * picture.height > MOST_PIXELS:
        most = MOST_PIXELS // 1_000_000
        raise DataError(f"{name}: has more than the {most} million pixels that an image may have")
    if picture.mode not in _GREY | _COLOURED:
        raise DataError(f"{name}: images of the mode {picture.mode} are not understood")
    return picture


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Whatever a broken file makes Pillow raise, as an error that names the file."""
    try:
        yield
    except (OSError, ValueError, SyntaxError, EOFError, struct.error) as error:
        raise DataError(f"{name}: cannot be decoded: {error}") from error
