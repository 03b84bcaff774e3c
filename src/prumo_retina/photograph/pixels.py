"""Pixels of JPEG, PNG and TIFF files, no larger than wanted.

JPEG is decoded by libjpeg-turbo directly at a half, a quarter or an eighth of its size.
"""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import simplejpeg
from PIL import ExifTags, Image, ImageOps
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile
from PIL.TiffImagePlugin import TiffImageFile

from prumo.images import simple_jpeg_size, with_8_bits
from prumo.message import Message

MOST_PIXELS = 105_000_000
"""As many as the largest camera backs give; more are an attack, or no photograph of one eye."""
LEAST_SIDE_PIXELS = 32
REDUCTIONS = (8, 4, 2, 1)
"""What libjpeg can decode to directly."""


@dataclass(frozen=True)
class Photograph:
    """Upright and in colour, perhaps smaller than it was taken."""

    pixels: np.ndarray
    """RGB, uint8, (row, column, channel)."""
    width: int
    """Of the whole photograph in pixels, as is the height."""
    height: int
    scale: float = 1.0
    """A length in `pixels` divided by the same length in the whole photograph."""
    laterality: str = ""
    """`L` or `R` when the file says which eye it is."""
    camera: str = ""
    """Maker and model when the file says them."""
    notes: tuple[Message, ...] = ()
    """What a reader should know, such as that only the first page was read."""


class UnreadableError(Exception):
    """Why a file cannot be read; whoever asked for it knows which one it is."""

    def __init__(self, text: str, /, **values: object) -> None:
        super().__init__(text, values)
        self.reason = Message(text, values)


def reduction(width: int, height: int, wanted_pixels: int) -> int:
    """By how much a photograph may be reduced so that the shorter side is as long as wanted.

    >>> reduction(4288, 2848, 598)
    4
    """
    shorter = min(width, height)
    return next((by for by in REDUCTIONS if reduced(shorter, by) >= wanted_pixels), 1)


def reduced(pixels: int, by: int) -> int:
    """The length of a side afterwards: a last pixel that is not whole counts."""
    return -(-pixels // by)


def check_size(width: int, height: int, held_pixels: int) -> None:
    """Refuse, before anything is decoded, what is no photograph or would fill the memory."""
    if min(width, height) < LEAST_SIDE_PIXELS:
        raise UnreadableError(
            "has {width} by {height} pixels: a photograph has at least {least} a side",
            width=width,
            height=height,
            least=LEAST_SIDE_PIXELS,
        )
    if held_pixels > MOST_PIXELS:
        raise UnreadableError(
            "has {width} by {height} pixels: more than the {most} million that are decoded at once",
            width=width,
            height=height,
            most=MOST_PIXELS // 1_000_000,
        )


def photograph_of(colour: Image.Image, wanted_pixels: int) -> Photograph:
    """A decoded image as a photograph, reduced by averages as a JPEG is."""
    by = reduction(*colour.size, wanted_pixels)
    pixels = np.array(colour.reduce(by) if by > 1 else colour)
    return Photograph(pixels, *colour.size, scale=1 / by)


_UPRIGHT = 1
_ON_ITS_SIDE = {5, 6, 7, 8}
"""EXIF orientations; those in which width and height change places."""


def upright_jpeg(content: bytes, wanted_pixels: int) -> Photograph:
    """Decode a whole JPEG and turn it as its EXIF orientation says."""
    photograph = decoded_jpeg(content, wanted_pixels)
    with JpegImageFile(io.BytesIO(content)) as header:
        orientation: int = header.getexif().get(ExifTags.Base.Orientation, _UPRIGHT)
    if orientation == _UPRIGHT:
        return photograph
    picture = Image.fromarray(photograph.pixels)
    picture.getexif()[ExifTags.Base.Orientation] = orientation
    pixels = np.array(ImageOps.exif_transpose(picture))
    if orientation not in _ON_ITS_SIDE:
        return replace(photograph, pixels=pixels)
    return replace(photograph, pixels=pixels, width=photograph.height, height=photograph.width)


def decoded_jpeg(content: bytes, wanted_pixels: int) -> Photograph:
    """Decode a whole JPEG; one that is truncated or damaged is an error, never a grey area."""
    header = JpegImageFile(io.BytesIO(content))
    width, height = header.size
    by = reduction(width, height, wanted_pixels)
    # A progressive JPEG is held whole, whatever size it is decoded at.
    check_size(width, height, width * height // (1 if "progressive" in header.info else by**2))
    if simple_jpeg_size(content) is not None:
        pixels = simplejpeg.decode_jpeg(
            content,
            colorspace="RGB",
            min_width=reduced(width, by),
            min_height=reduced(height, by),
            strict=True,
        )
    else:
        header.draft(None, (width // by, height // by))
        pixels = np.array(header.convert("RGB"))
    return Photograph(pixels, width, height, scale=1 / by)


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
            "has pixels of the kind {mode}, which no camera writes", mode=picture.mode
        )
    picture.load()
    # Metadata that are broken say nothing, and the photograph is whole without them.
    with suppress(SyntaxError):
        ImageOps.exif_transpose(picture, in_place=True)
    return photograph_of(_in_colour(picture), wanted_pixels)


def _in_colour(picture: Image.Image) -> Image.Image:
    if picture.mode in _DEEP_GREY:
        return with_8_bits(picture).convert("RGB")
    if picture.has_transparency_data:
        # Beyond the fundus is darkness, whatever colour lies under what is transparent.
        black = Image.new("RGBA", picture.size, "black")
        return Image.alpha_composite(black, picture.convert("RGBA")).convert("RGB")
    return picture if picture.mode == "RGB" else picture.convert("RGB")
