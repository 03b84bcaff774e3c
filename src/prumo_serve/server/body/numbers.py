"""Arrays of pixels that somebody sent, found to be what they should be."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from prumo_serve.server.refusal import too_large, wrong_values


def array_of_numbers(nested: list[Any]) -> np.ndarray:
    """Numbers in equal rows, however deep.

    Raises:
        Refusal: There is something else among them, or a row is longer than another.
    """
    level = nested
    # Before numpy sees it, which makes True a 1 and each string as long as the longest:
    # a megabyte of them would take a hundred gigabytes.
    while (kinds := set(map(type, level))) == {list}:
        level = list(chain.from_iterable(level))
    if not kinds <= {int, float}:
        raise wrong_values("an array must hold numbers in equal rows, and nothing else")
    try:
        array = np.array(nested)
    except ValueError:
        raise wrong_values("the rows of an array are not equally long") from None
    if array.dtype.kind not in "iuf":
        raise wrong_values("a number of an array is too large")
    return array


_IMAGE_AXES = 3
_CHANNELS = 3


def require_image_shape(shape: tuple[int, ...], most_pixels: int) -> None:
    """Refuse what is not (height, width, 3), or has too many pixels."""
    if len(shape) != _IMAGE_AXES or shape[2] != _CHANNELS or 0 in shape:
        raise wrong_values("an image must have the shape (height, width, 3)")
    height, width, _ = shape
    if height * width > most_pixels:
        raise too_large(f"an image may have at most {most_pixels} pixels")


def require_pixel_values(pixels: np.ndarray) -> None:
    """Refuse what is not from 0 to 255, or is so from 0 to 1; NaN neither."""
    # Written so that NaN, which is neither more nor less than anything, is refused.
    if pixels.dtype != np.uint8 and not (pixels.min() >= 0 and pixels.max() <= 255):  # noqa: PLR2004 (a byte)
        raise wrong_values("pixels must be numbers from 0 to 255")
    # As pixels up to 255 it would be all but black, which nobody means.
    if pixels.dtype.kind == "f" and 0 < pixels.max() <= 1:
        raise wrong_values(
            "pixels go from 0 to 255, but none is more than 1 here: multiply them by 255"
        )
