"""What a network sees of an image: decoded, in its size, as its tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prumo_serve.manifest import Normalization

if TYPE_CHECKING:
    from prumo_serve.manifest import Input


class TensorForm:
    """The form that a network wants; computed once, used for every image."""

    def __init__(self, wanted: Input) -> None:
        normalization = wanted.normalization or Normalization()
        self._dtype = np.dtype(wanted.dtype)
        self._is_channels_first = wanted.layout == "NCHW"
        self._is_bgr = normalization.channels == "bgr"
        # As long as a row of pixels, because numpy is slow where the last axis is short.
        self._offset = np.tile(np.array(normalization.offset, np.float32), wanted.width)
        self._scale = np.tile(np.array(normalization.scale, np.float32), wanted.width)
        self._is_shifted = bool((self._offset != 0).any() or (self._scale != 1).any())

    def of(self, pixels: np.ndarray) -> np.ndarray:
        """The tensor of pixels (row, column, RGB) from 0 to 255, without the batch's axis."""
        if self._is_bgr:
            pixels = pixels[..., ::-1]
        if self._is_shifted:
            rows = pixels.reshape(len(pixels), -1)
            # One array of floats, not two: they are larger than what a core keeps at hand.
            tensor = rows - self._offset
            pixels = np.divide(tensor, self._scale, out=tensor).reshape(pixels.shape)
        if self._is_channels_first:
            pixels = pixels.transpose(2, 0, 1)
        if self._dtype == np.uint8:
            return np.ascontiguousarray(as_bytes(pixels))
        return np.ascontiguousarray(pixels, dtype=self._dtype)


def as_bytes(pixels: np.ndarray) -> np.ndarray:
    """Pixels from 0 to 255, rounded where they are not whole; bytes are not copied."""
    if pixels.dtype == np.uint8:
        return pixels
    rounded: np.ndarray = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    return rounded
