"""JPEG and PNG as pixels, once their headers have been found harmless."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import simplejpeg

from prumo.errors import DataError
from prumo.images import JPEG_MARK, PNG_MARK, simple_jpeg_size, with_8_bits
from prumo.message import Message

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile


class BadImageError(DataError):
    """An image that cannot be read; whoever gave it knows which one it is."""

    kind: ClassVar[str] = "unreadable_image"

    def __init__(self, reason: Message) -> None:
        super().__init__(reason)
        self.reason = reason

    @property
    def sentence(self) -> Message:
        """The reason as a whole sentence."""
        return Message("the image {reason}", {"reason": self.reason})

    def __str__(self) -> str:
        return str(self.sentence)


class TooManyPixelsError(BadImageError):
    """An image that would fill the memory, refused before it is decoded."""

    kind = "too_large"


_EXIF_MARK = b"Exif\0\0"
# Those with a length after them, or the end; never a byte inside of the coded pixels.
_MARKER = re.compile(rb"\xff[\x02-\xcf\xd8-\xfe]")
_SCAN, _END = 0xDA, 0xD9
_MOST_SCANS = 32
"""Encoders write about ten, and each costs a pass over all pixels, however few bytes it has."""


def decoded(content: bytes, most_pixels: int) -> np.ndarray:
    """Upright RGB bytes, (row, column, channel), of a JPEG or PNG.

    A JPEG that is truncated or damaged is an error, never a grey area. What lies under transparent
    pixels counts, as in the readers of Keras, TensorFlow and torchvision.
    """
    with _reasons():
        if not content.startswith(PNG_MARK):
            return _decoded_jpeg(content, most_pixels)
        with _opened(content) as picture:
            check_size(*picture.size, most_pixels)
            picture.load()
            return _upright(with_8_bits(picture).convert("RGB"))


def check_header(content: bytes, most_pixels: int) -> None:
    """Refuse what is neither JPEG nor PNG or would take too long or too much memory to decode."""
    with _reasons():
        if content.startswith(PNG_MARK):
            with _opened(content) as picture:
                check_size(*picture.size, most_pixels)
        else:
            _check_jpeg(content, most_pixels)


def check_size(width: int, height: int, most_pixels: int) -> None:
    """Refuse more pixels than a user allows."""
    if width * height > most_pixels:
        raise TooManyPixelsError(
            Message(
                "has {width} by {height} pixels: at most {most} are decoded",
                {"width": width, "height": height, "most": most_pixels},
            )
        )


def _decoded_jpeg(content: bytes, most_pixels: int) -> np.ndarray:
    is_simple = _check_jpeg(content, most_pixels)
    if is_simple and _EXIF_MARK not in content:
        # Pillow would take as long to open the file as libjpeg-turbo to decode a small one.
        pixels: np.ndarray = simplejpeg.decode_jpeg(content, colorspace="RGB", strict=True)
        return pixels
    with _opened(content) as picture:
        if not is_simple:
            return _upright(picture.convert("RGB"))
        from PIL.Image import fromarray  # noqa: PLC0415

        turned = fromarray(simplejpeg.decode_jpeg(content, colorspace="RGB", strict=True))
        turned.info.update(picture.info)
        return _upright(turned)


def _check_jpeg(content: bytes, most_pixels: int) -> bool:
    """Refuse a JPEG by its header; whether simplejpeg can decode it, which Pillow does slower."""
    if not content.startswith(JPEG_MARK):
        raise BadImageError(Message("is neither JPEG nor PNG"))
    _check_scans(content)
    size = simple_jpeg_size(content)
    if size is not None:
        check_size(*size, most_pixels)
        return True
    with _opened(content) as picture:
        check_size(*picture.size, most_pixels)
    return False


def _check_scans(content: bytes) -> None:
    scans = 0
    found = _MARKER.search(content, len(JPEG_MARK) - 1)
    while found and scans <= _MOST_SCANS:
        marker, end = content[found.end() - 1], found.end()
        if marker == _END:
            return
        scans += marker == _SCAN
        found = _MARKER.search(content, end + int.from_bytes(content[end : end + 2]))
    if scans > _MOST_SCANS:
        raise BadImageError(
            Message("has more than {most} scans, which no camera writes", {"most": _MOST_SCANS})
        )


def _opened(content: bytes) -> ImageFile:
    # Here and below only when it is needed: most JPEGs do without Pillow, and so does a start.
    if content.startswith(PNG_MARK):
        from PIL.PngImagePlugin import PngImageFile  # noqa: PLC0415

        return PngImageFile(io.BytesIO(content))
    from PIL.JpegImagePlugin import JpegImageFile  # noqa: PLC0415

    return JpegImageFile(io.BytesIO(content))


def _upright(picture: Image) -> np.ndarray:
    from PIL import ImageOps  # noqa: PLC0415

    # Metadata that are broken say nothing, and the image is whole without them.
    with suppress(SyntaxError):
        ImageOps.exif_transpose(picture, in_place=True)
    return np.array(picture)


@contextmanager
def _reasons() -> Iterator[None]:
    """Whatever a broken image makes a decoder raise, as an error that says why."""
    try:
        yield
    except BadImageError:
        raise
    except Exception as error:
        # A broken image can make a decoder raise anything.
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise BadImageError(Message("cannot be decoded: {reason}", {"reason": reason})) from error
