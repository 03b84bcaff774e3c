"""Images in a network's size.

Bilinear, area and nearest give what `tf.image.resize` and with it the readers of Keras give; cubic
is OpenCV's. The networks of the published study on deployment were trained on photographs that had
224 pixels a side already: in that size nothing is resized, and all others go through bilinear,
which Keras's `image_dataset_from_directory` uses when nobody chooses.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import cv2
import numpy as np

from prumo_serve.manifest import ImagePreprocessing
from prumo_serve.preprocessing import TensorForm, as_bytes
from prumo_serve.preprocessing.decoding import check_size, decoded
from prumo_serve.task import PreparedImage

if TYPE_CHECKING:
    from prumo_serve.manifest import Input

_INTERPOLATIONS = {"area": cv2.INTER_AREA, "cubic": cv2.INTER_CUBIC}


class ImageFitting:
    """The preprocessing of kind `image` that an input asks for."""

    def __init__(self, wanted: Input, most_pixels: int) -> None:
        if not isinstance(wanted.preprocessing, ImagePreprocessing):
            raise TypeError(f"{wanted.preprocessing.kind} is no preprocessing of plain images")
        self._height, self._width = wanted.height, wanted.width
        self._how = wanted.preprocessing
        self._most_pixels = most_pixels
        self._form = TensorForm(wanted)

    def prepared(self, image: bytes | np.ndarray) -> PreparedImage:
        """See `Preprocessing`."""
        began = perf_counter()
        if isinstance(image, np.ndarray):
            check_size(image.shape[1], image.shape[0], self._most_pixels)
            pixels = image
        else:
            pixels = decoded(image, self._most_pixels)
        was_decoded = perf_counter()
        right_size = fitted(pixels, self._height, self._width, self._how)
        return PreparedImage(
            pixels=self._form.of(right_size),
            picture=as_bytes(right_size),
            width=pixels.shape[1],
            height=pixels.shape[0],
            decode_seconds=was_decoded - began,
            preprocess_seconds=perf_counter() - was_decoded,
        )


def fitted(pixels: np.ndarray, height: int, width: int, how: ImagePreprocessing) -> np.ndarray:
    """An image (row, column, channel) in a size; one that has it already is not touched.

    Pixels between two are not rounded, as they were not in training.
    """
    if pixels.shape[:2] == (height, width):
        return pixels
    if how.fit == "crop":
        pixels = _middle(pixels, height / width)
    elif how.fit == "pad":
        return _padded(pixels, height, width, how.interpolation)
    return _resized(pixels, height, width, how.interpolation)


def _resized(pixels: np.ndarray, height: int, width: int, interpolation: str) -> np.ndarray:
    if interpolation == "bilinear":
        return _bilinear(pixels, height, width)
    if interpolation == "nearest":
        return cv2.resize(pixels, (width, height), interpolation=cv2.INTER_NEAREST_EXACT)
    exact = pixels.astype(np.float32, copy=False)
    resized = cv2.resize(exact, (width, height), interpolation=_INTERPOLATIONS[interpolation])
    # Cubic curves overshoot beside an edge.
    return np.clip(resized, 0, 255)


def _bilinear(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """Four neighbours mixed, however much smaller the image becomes.

    So do `image_dataset_from_directory` and `Resizing` of Keras and `tf.image.resize`, where
    pixels are squares with their centres at one half. OpenCV would round.
    """
    above, below, lower_share = _neighbours(pixels.shape[0], height)
    left, right, right_share = _neighbours(pixels.shape[1], width)
    channels = pixels.shape[2]
    # In rows without an axis of channels, because numpy is slow where the last axis is short.
    shares = np.repeat(right_share, channels)

    def row_mix(rows: np.ndarray) -> np.ndarray:
        lines = pixels.take(rows, axis=0)
        one, other = (lines.take(columns, axis=1) for columns in (left, right))
        return _mixed(one.reshape(height, -1), other.reshape(height, -1), shares)

    mixed = _mixed(row_mix(above), row_mix(below), lower_share[:, None])
    return mixed.reshape(height, width, channels)


def _neighbours(old: int, new: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each new pixel the old ones before and after it, and the share of the latter."""
    centres = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * np.float32(old / new)
    places = centres - np.float32(0.5)
    before = np.floor(places)
    share: np.ndarray = places - before
    first, second = (np.clip(before + step, 0, old - 1).astype(np.intp) for step in (0, 1))
    return first, second, share


def _mixed(one: np.ndarray, other: np.ndarray, share: np.ndarray) -> np.ndarray:
    first = one.astype(np.float32, copy=False)
    mixed: np.ndarray = first + (other - first) * share
    return mixed


def _middle(pixels: np.ndarray, height_per_width: float) -> np.ndarray:
    """The largest part of the given shape in the middle."""
    old_height, old_width = pixels.shape[:2]
    height = max(1, min(old_height, round(old_width * height_per_width)))
    width = max(1, min(old_width, round(old_height / height_per_width)))
    top, left = (old_height - height) // 2, (old_width - width) // 2
    return pixels[top : top + height, left : left + width]


def _padded(pixels: np.ndarray, height: int, width: int, interpolation: str) -> np.ndarray:
    """The whole image in the middle, and black beside it."""
    old_height, old_width = pixels.shape[:2]
    scale = min(height / old_height, width / old_width)
    inner_height = min(height, max(1, round(old_height * scale)))
    inner_width = min(width, max(1, round(old_width * scale)))
    inner = pixels
    if pixels.shape[:2] != (inner_height, inner_width):
        inner = _resized(pixels, inner_height, inner_width, interpolation)
    padded = np.zeros((height, width, pixels.shape[2]), inner.dtype)
    top, left = (height - inner_height) // 2, (width - inner_width) // 2
    padded[top : top + inner_height, left : left + inner_width] = inner
    return padded
