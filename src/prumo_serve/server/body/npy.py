"""application/x-npy: an array as numpy saves it, read without pickle and without `eval`."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from prumo_serve.server.body import BodyImage, BodyImages
from prumo_serve.server.body.numbers import require_image_shape, require_pixel_values
from prumo_serve.server.refusal import Refusal, malformed, too_large, wrong_values

if TYPE_CHECKING:
    from prumo_serve.server.body import BodyLimits

_MAGIC = b"\x93NUMPY"
_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}
"""Of the header's length, by the format's version."""
_MOST_HEADER_BYTES = 1024
# Numpy and all that imitate it write the three keys in this order.
_HEADER = re.compile(
    r"\{\s*'descr':\s*'(?P<dtype>[^']{1,16})',\s*'fortran_order':\s*(?P<order>True|False),"
    r"\s*'shape':\s*\((?P<shape>[\d,\s]{0,64})\),?\s*\}\s*",
    re.ASCII,
)
_TYPES: dict[str, np.dtype[Any]] = {"|u1": np.dtype(np.uint8), "<f4": np.dtype(np.float32)}
_ORDERS: dict[str, Literal["C", "F"]] = {"False": "C", "True": "F"}
_LIST_AXES = 4


def read(body: bytes, _content_type: str, limits: BodyLimits) -> BodyImages:
    """An array (height, width, 3), or a list of them (images, height, width, 3)."""
    header, start = _header(body)
    if header["dtype"] not in _TYPES:
        raise wrong_values("the array must be of the type uint8 or little-endian float32")
    dtype = _TYPES[header["dtype"]]
    shape = tuple(int(length) for length in header["shape"].replace(" ", "").split(",") if length)
    is_list = len(shape) == _LIST_AXES
    if is_list and not 1 <= shape[0] <= limits.images:
        raise too_large(f"a request may have 1 to {limits.images} images")
    require_image_shape(shape[1:] if is_list else shape, limits.pixels)
    if len(body) - start != math.prod(shape) * dtype.itemsize:
        raise malformed("the npy array has fewer or more bytes than its header says")
    numbers: np.ndarray = np.frombuffer(body, dtype, offset=start)
    pixels = numbers.reshape(shape, order=_ORDERS[header["order"]])
    images = pixels if is_list else pixels[np.newaxis]
    for number, image in enumerate(images):
        try:
            require_pixel_values(image)
        except Refusal as refusal:
            raise (refusal.at(f"image [{number}]") if is_list else refusal) from None
    return BodyImages(tuple(BodyImage(image) for image in images), is_list)


def _header(body: bytes) -> tuple[re.Match[str], int]:
    """The fields of the header, and where the numbers begin."""
    version = body[len(_MAGIC)] if len(body) > len(_MAGIC) else 0
    if not body.startswith(_MAGIC) or version not in _LENGTH_BYTES:
        raise malformed("the body is not an npy array")
    length_start = len(_MAGIC) + 2
    start = length_start + _LENGTH_BYTES[version]
    length = int.from_bytes(body[length_start:start], "little")
    if length > _MOST_HEADER_BYTES:
        raise malformed(f"the header of the npy array is longer than {_MOST_HEADER_BYTES} bytes")
    header = _HEADER.fullmatch(body[start : start + length].decode("latin-1"))
    if header is None:
        raise malformed("the header of the npy array is not one of an array of numbers")
    return header, start + length
