"""Any image, resized to what the network takes, whatever it shows."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from prumo.model.manifest import ImagePreprocessing
from prumo.model.preprocessing import PreparedImage, Preprocessing
from prumo.model.preprocessing.decoding import check_size, decoded
from prumo.model.preprocessing.resizing import fitted
from prumo.model.preprocessing.tensor import TensorForm, as_bytes

if TYPE_CHECKING:
    from prumo.model.manifest import Input


def made(wanted: Input, most_pixels: int) -> Preprocessing:
    """The preprocessing of kind `image` that an input asks for."""
    if not isinstance(wanted.preprocessing, ImagePreprocessing):
        raise TypeError(f"{wanted.preprocessing.kind} is no preprocessing of plain images")
    return _Image(wanted, wanted.preprocessing, most_pixels)


class _Image:
    def __init__(self, wanted: Input, how: ImagePreprocessing, most_pixels: int) -> None:
        self._height, self._width = wanted.height, wanted.width
        self._how = how
        self._most_pixels = most_pixels
        self._form = TensorForm(wanted)

    def prepared(self, image: bytes | np.ndarray) -> PreparedImage:
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
