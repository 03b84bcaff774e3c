"""PNG and TIFF, which can only be decoded whole."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile

from prumo.message import Message
from prumo.retina.photograph.picture import Photograph, UnreadableError, check_size, photograph_of

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

_DEEP_GREY = {"I;16", "I;16B"}
_MODES = {"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"} | _DEEP_GREY


def read_png(file: Path | BinaryIO, wanted_pixels: int) -> Photograph:
    """Read a file of any colour type and depth."""
    with PngImageFile(file) as picture:
        return _read(picture, wanted_pixels)


def read_tiff(path: Path, wanted_pixels: int) -> Photograph:
    """Read the first page of a file."""
    with TiffImageFile(path) as picture:
        photograph = _read(picture, wanted_pixels)
        if not picture.is_animated:
            return photograph
        return replace(photograph, notes=(Message("has several pages: only the first is read"),))


def _read(picture: Image.Image, wanted_pixels: int) -> Photograph:
    check_size(picture.width, picture.height, picture.width * picture.height)
    if picture.mode not in _MODES:
        raise UnreadableError(
            Message("has pixels of the kind {mode}, which no camera writes", {"mode": picture.mode})
        )
    picture.load()
    # Metadata that are broken say nothing, and the photograph is whole without them.
    with suppress(SyntaxError):
        ImageOps.exif_transpose(picture, in_place=True)
    return photograph_of(_in_colour(picture), wanted_pixels)


def _in_colour(picture: Image.Image) -> Image.Image:
    if picture.mode in _DEEP_GREY:
        # Pillow would cut 16 bits at 255 and not scale them; of colours it keeps the high byte.
        high_bytes = (np.asarray(picture) >> 8).astype(np.uint8)
        return Image.fromarray(high_bytes).convert("RGB")
    if picture.has_transparency_data:
        # Beyond the fundus is darkness, whatever colour lies under what is transparent.
        black = Image.new("RGBA", picture.size, "black")
        return Image.alpha_composite(black, picture.convert("RGBA")).convert("RGB")
    return picture if picture.mode == "RGB" else picture.convert("RGB")
