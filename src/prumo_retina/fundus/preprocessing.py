"""A fundus photograph, found, cut out and judged as in training."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import simplejpeg

from prumo.errors import InputError
from prumo_retina.fundus.preparation import Preparation
from prumo_retina.fundus.prepared import encoded, prepared
from prumo_retina.photograph import photograph_in
from prumo_retina.photograph.pixels import Photograph, UnreadableError
from prumo_retina.photograph.pixels import check_size as check_photograph_size
from prumo_retina.task import FundusPreprocessing
from prumo_serve.preprocessing import TensorForm, as_bytes
from prumo_serve.preprocessing.decoding import BadImageError, check_header, check_size
from prumo_serve.task import PreparedImage, Preprocessing

if TYPE_CHECKING:
    from prumo_serve.manifest import Input


def made(wanted: Input, most_pixels: int) -> Preprocessing:
    """The preprocessing of kind `fundus` that an input asks for."""
    if not isinstance(wanted.preprocessing, FundusPreprocessing):
        raise TypeError(f"{wanted.preprocessing.kind} is no preprocessing of a fundus")
    preparation = Preparation.model_validate(wanted.preprocessing.preparation)
    if not wanted.height == wanted.width == preparation.size:
        raise InputError(
            f"the network takes {wanted.width} by {wanted.height} pixels, but its photographs are "
            f"prepared as squares of {preparation.size}: they must be the same"
        )
    return _Fundus(preparation, TensorForm(wanted), most_pixels)


class _Fundus:
    def __init__(self, preparation: Preparation, form: TensorForm, most_pixels: int) -> None:
        self._preparation = preparation
        self._form = form
        self._most_pixels = most_pixels

    def prepared(self, image: bytes | np.ndarray) -> PreparedImage:
        began = perf_counter()
        photograph = self._photograph(image)
        was_decoded = perf_counter()
        found = prepared(photograph, self._preparation)
        tensor, seen = None, found.pixels
        if found.quality.verdict.is_gradable and seen is not None:
            # The network was trained on photographs that were stored so, and a JPEG changes pixels.
            seen = simplejpeg.decode_jpeg(encoded(seen), colorspace="RGB")
            tensor = self._form.of(seen)
        return PreparedImage(
            tensor,
            seen,
            photograph.width,
            photograph.height,
            found.quality,
            decode_seconds=was_decoded - began,
            preprocess_seconds=perf_counter() - was_decoded,
        )

    def _photograph(self, image: bytes | np.ndarray) -> Photograph:
        try:
            if isinstance(image, np.ndarray):
                height, width = image.shape[:2]
                check_size(width, height, self._most_pixels)
                check_photograph_size(width, height, width * height)
                return Photograph(np.ascontiguousarray(as_bytes(image)), width, height)
            check_header(image, self._most_pixels)
            return photograph_in(image, self._preparation.wanted_pixels)
        except UnreadableError as error:
            raise BadImageError(error.reason) from error
