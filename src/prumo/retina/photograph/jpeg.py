"""JPEG, decoded by libjpeg-turbo directly at a half, a quarter or an eighth of its size."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import simplejpeg
from PIL import ExifTags, Image, ImageOps
from PIL.JpegImagePlugin import JpegImageFile

from prumo.retina.photograph.picture import Photograph, check_size, reduced, reduction

if TYPE_CHECKING:
    from pathlib import Path

_UPRIGHT = 1
_ON_ITS_SIDE = {5, 6, 7, 8}
"""EXIF orientations; those in which width and height change places."""
_COLOURS = {"RGB", "YCbCr", "Gray"}
"""What simplejpeg turns to RGB as Pillow does; inks are not among them."""


def read_jpeg(path: Path, wanted_pixels: int) -> Photograph:
    """Read a file and turn the photograph as its EXIF orientation says."""
    return upright_jpeg(path.read_bytes(), wanted_pixels)


def upright_jpeg(content: bytes, wanted_pixels: int) -> Photograph:
    """Decode a whole JPEG and turn it as its EXIF orientation says."""
    photograph = decoded_jpeg(content, wanted_pixels)
    return _turned(photograph, _orientation(content))


def decoded_jpeg(content: bytes, wanted_pixels: int) -> Photograph:
    """Decode a whole JPEG; one that is truncated or damaged is an error, never a grey area."""
    header = JpegImageFile(io.BytesIO(content))
    width, height = header.size
    by = reduction(width, height, wanted_pixels)
    # A progressive JPEG is held whole, whatever size it is decoded at.
    check_size(width, height, width * height // (1 if "progressive" in header.info else by**2))
    if _is_simple(content):
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


def _is_simple(content: bytes) -> bool:
    """Whether simplejpeg can decode it; Pillow is slower and knows more colours and samplings."""
    try:
        _, _, colours, _ = simplejpeg.decode_jpeg_header(content)
    except ValueError:
        return False
    return colours in _COLOURS


def _orientation(content: bytes) -> int:
    with JpegImageFile(io.BytesIO(content)) as header:
        found: int = header.getexif().get(ExifTags.Base.Orientation, _UPRIGHT)
        return found


def _turned(photograph: Photograph, orientation: int) -> Photograph:
    if orientation == _UPRIGHT:
        return photograph
    picture = Image.fromarray(photograph.pixels)
    picture.getexif()[ExifTags.Base.Orientation] = orientation
    pixels = np.array(ImageOps.exif_transpose(picture))
    if orientation not in _ON_ITS_SIDE:
        return replace(photograph, pixels=pixels)
    return replace(photograph, pixels=pixels, width=photograph.height, height=photograph.width)
