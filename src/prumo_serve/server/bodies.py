"""Bodies of requests: the images in JPEG, PNG, npy, JSON and forms, not decoded yet."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Never

import numpy as np
from pydantic import TypeAdapter, ValidationError
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from prumo_serve.server.models import EncodedImage, EncodedInstance, Instances
from prumo_serve.server.refusal import each, malformed, too_large, unsupported_type, wrong_values

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

    from prumo_serve.server.settings import Limits

_ALIASES = {"image/jpg": "image/jpeg"}
"""Not registered, but often sent."""

_FORM = (
    'the document must be {"image": base64} or {"instances": [...]}, each instance '
    '{"image": base64}, {"b64": base64} or numbers (height, width, 3)'
)
_DATA_URL = re.compile(r"\Adata:image/(?:jpeg|jpg|png);base64,", re.IGNORECASE)
"""How a browser's FileReader begins."""
_ENCODED: TypeAdapter[EncodedImage | EncodedInstance] = TypeAdapter(EncodedImage | EncodedInstance)

_NPY_MAGIC = b"\x93NUMPY"
_NPY_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}
"""Of the header's length, by the format's version."""
_MOST_NPY_HEADER_BYTES = 1024
# Numpy and all that imitate it write the three keys in this order.
_NPY_HEADER = re.compile(
    r"\{\s*'descr':\s*'(?P<dtype>[^']{1,16})',\s*'fortran_order':\s*(?P<order>True|False),"
    r"\s*'shape':\s*\((?P<shape>[\d,\s]{0,64})\),?\s*\}\s*",
    re.ASCII,
)
_NPY_TYPES: dict[str, np.dtype[Any]] = {"|u1": np.dtype(np.uint8), "<f4": np.dtype(np.float32)}
_NPY_ORDERS: dict[str, Literal["C", "F"]] = {"False": "C", "True": "F"}
_LIST_AXES = 4
_MOST_BOUNDARY_BYTES = 70
"""RFC 2046."""


@dataclass(frozen=True)
class BodyImage:
    """An image as it was sent, not decoded yet."""

    content: bytes | np.ndarray
    """A JPEG or PNG, or pixels from 0 to 255: (height, width, RGB), uint8 or float32."""
    name: str = ""
    """What the sender calls it, printable or not."""


@dataclass(frozen=True)
class BodyImages:
    """All images of a body, at least one."""

    images: tuple[BodyImage, ...]
    is_list: bool
    """Whether the sender made a list, and so expects one, even of a single image."""


def images_in(body: bytes, content_type: str, limits: Limits) -> BodyImages:
    """The images of a request, or a refusal."""
    media_type = content_type.partition(";")[0].strip().lower()
    media_type = _ALIASES.get(media_type, media_type)
    if media_type not in _READERS:
        raise unsupported_type(f"the content type must be one of {', '.join(CONTENT_TYPES)}")
    if not body:
        raise malformed("the body is empty")
    return _READERS[media_type](body, content_type, limits)


def parsed_json(body: bytes) -> Any:  # noqa: ANN401 (any JSON value)
    """A JSON document that keeps to the standard and is not nested too deeply."""
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except ValueError:
        raise malformed("the body is not JSON") from None
    except RecursionError:
        raise malformed("the JSON document is nested too deeply") from None


def decoded_base64(text: object) -> bytes:
    """The bytes behind base64 as RFC 4648 has it: no line ends, no missing padding.

    A data URL of a JPEG or PNG is accepted too.
    """
    if not isinstance(text, str):
        raise wrong_values(_FORM)
    try:
        content = base64.b64decode(_DATA_URL.sub("", text, count=1), validate=True)
    except (binascii.Error, ValueError):
        raise wrong_values("an image is not valid base64") from None
    if not content:
        raise wrong_values("an image is empty")
    return content


def array_of_numbers(nested: list[Any]) -> np.ndarray:
    """Numbers in equal rows, however deep; anything else is refused."""
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


def _read_encoded(body: bytes, _content_type: str, _limits: Limits) -> BodyImages:
    """The body is the image; its content decides on the format, not the content type."""
    return BodyImages((BodyImage(body),), is_list=False)


def _read_json(body: bytes, _content_type: str, limits: Limits) -> BodyImages:
    """One image, or a list of instances as TensorFlow Serving takes them."""
    document = parsed_json(body)
    if not isinstance(document, dict):
        raise wrong_values(_FORM)
    if "instances" not in document:
        return BodyImages((_instance(limits.pixels, document),), is_list=False)
    try:
        instances = Instances.model_validate(document).instances
    except ValidationError:
        raise wrong_values(_FORM) from None
    if not instances:
        raise wrong_values("there must be one instance at least")
    if len(instances) > limits.images:
        raise too_large(f"a request may have at most {limits.images} images")
    images = each("instances", partial(_instance, limits.pixels), instances)
    return BodyImages(tuple(images), is_list=True)


def _instance(most_pixels: int, instance: object) -> BodyImage:
    if isinstance(instance, list):
        pixels = array_of_numbers(instance)
        _require_image_shape(pixels.shape, most_pixels)
        _checked_image(pixels)
        return BodyImage(pixels.astype(np.float32 if pixels.dtype.kind == "f" else np.uint8))
    try:
        given = _ENCODED.validate_python(instance)
    except ValidationError:
        raise wrong_values(_FORM) from None
    text = given.image if isinstance(given, EncodedImage) else given.b64
    return BodyImage(decoded_base64(text), given.name)


def _refuse_constant(name: str) -> Never:
    raise ValueError(name)


def _require_image_shape(shape: tuple[int, ...], most_pixels: int) -> None:
    """Refuse what is not (height, width, 3), or has too many pixels."""
    if shape[2:] != (3,) or 0 in shape:
        raise wrong_values("an image must have the shape (height, width, 3)")
    if shape[0] * shape[1] > most_pixels:
        raise too_large(f"an image may have at most {most_pixels} pixels")


def _checked_image(pixels: np.ndarray) -> BodyImage:
    """Refuse pixels that are not from 0 to 255, or only from 0 to 1; NaN too."""
    # Written so that NaN, which is neither more nor less than anything, is refused.
    if pixels.dtype != np.uint8 and not (pixels.min() >= 0 and pixels.max() <= 255):  # noqa: PLR2004 (a byte)
        raise wrong_values("pixels must be numbers from 0 to 255")
    # As pixels up to 255 it would be all but black, which nobody means.
    if pixels.dtype.kind == "f" and 0 < pixels.max() <= 1:
        raise wrong_values(
            "pixels go from 0 to 255, but none is more than 1 here: multiply them by 255"
        )
    return BodyImage(pixels)


def _read_npy(body: bytes, _content_type: str, limits: Limits) -> BodyImages:
    """An array (height, width, 3), or a list of them (images, height, width, 3).

    Read without pickle and without `eval`.
    """
    header, start = _npy_header(body)
    if header["dtype"] not in _NPY_TYPES:
        raise wrong_values("the array must be of the type uint8 or little-endian float32")
    dtype = _NPY_TYPES[header["dtype"]]
    shape = tuple(int(length) for length in header["shape"].replace(" ", "").split(",") if length)
    is_list = len(shape) == _LIST_AXES
    if is_list and not 1 <= shape[0] <= limits.images:
        raise too_large(f"a request may have 1 to {limits.images} images")
    _require_image_shape(shape[1:] if is_list else shape, limits.pixels)
    if len(body) - start != math.prod(shape) * dtype.itemsize:
        raise malformed("the npy array has fewer or more bytes than its header says")
    numbers: np.ndarray = np.frombuffer(body, dtype, offset=start)
    pixels = numbers.reshape(shape, order=_NPY_ORDERS[header["order"]])
    if not is_list:
        return BodyImages((_checked_image(pixels),), is_list)
    return BodyImages(tuple(each("image ", _checked_image, pixels)), is_list)


def _npy_header(body: bytes) -> tuple[re.Match[str], int]:
    """The fields of the header, and where the numbers begin."""
    version = body[len(_NPY_MAGIC)] if len(body) > len(_NPY_MAGIC) else 0
    if not body.startswith(_NPY_MAGIC) or version not in _NPY_LENGTH_BYTES:
        raise malformed("the body is not an npy array")
    length_start = len(_NPY_MAGIC) + 2
    start = length_start + _NPY_LENGTH_BYTES[version]
    length = int.from_bytes(body[length_start:start], "little")
    if length > _MOST_NPY_HEADER_BYTES:
        raise malformed(
            f"the header of the npy array is longer than {_MOST_NPY_HEADER_BYTES} bytes"
        )
    header = _NPY_HEADER.fullmatch(body[start : start + length].decode("latin-1"))
    if header is None:
        raise malformed("the header of the npy array is not one of an array of numbers")
    return header, start + length


def _read_form(body: bytes, content_type: str, limits: Limits) -> BodyImages:
    """Every file of a form as a web page or `curl -F` sends it.

    Fields without a file are refused, so that nothing is overlooked.
    """
    files = _FormFiles(limits.images)
    try:
        parser = MultipartParser(_boundary(content_type), files.callbacks)
        parser.write(body)
        parser.finalize()
    except (FormParserError, UnicodeError):
        raise malformed("the body is not a form with the boundary of its content type") from None
    if not files.is_ended:
        raise malformed("the form has no end: its last boundary is missing")
    if not files.images:
        raise wrong_values("the form has no file")
    return BodyImages(tuple(files.images), is_list=len(files.images) > 1)


def _boundary(content_type: str) -> bytes:
    try:
        _, options = parse_options_header(content_type)
    except UnicodeError:
        options = {}
    boundary = options.get(b"boundary", b"")
    if not 1 <= len(boundary) <= _MOST_BOUNDARY_BYTES:
        raise malformed(
            f"the content type of a form has a boundary of 1 to {_MOST_BOUNDARY_BYTES} characters"
        )
    return boundary


class _FormFiles:
    """Collects the files of a form while it is parsed."""

    def __init__(self, most_images: int) -> None:
        self.images: list[BodyImage] = []
        self.is_ended = False
        self._most_images = most_images
        self._field = bytearray()
        self._value = bytearray()
        self._disposition = b""
        self._content: list[bytes] = []

    @property
    def callbacks(self) -> MultipartCallbacks:
        """What the parser calls; it may give a header and a content in several pieces."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._field.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_part_data": lambda data, start, end: self._content.append(data[start:end]),
            "on_part_end": self._end,
            "on_end": self._end_form,
        }

    def _begin(self) -> None:
        if len(self.images) == self._most_images:
            raise too_large(f"a request may have at most {self._most_images} images")
        self._disposition = b""
        self._content = []

    def _end_header(self) -> None:
        if bytes(self._field).lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._field.clear()
        self._value.clear()

    def _end(self) -> None:
        _, options = parse_options_header(self._disposition)
        if b"filename" not in options:
            raise wrong_values("the form has a field that is not a file")
        content = b"".join(self._content)
        if not content:
            raise wrong_values(f"file {len(self.images) + 1} of the form is empty")
        self.images.append(BodyImage(content, options[b"filename"].decode("utf-8", "replace")))

    def _end_form(self) -> None:
        self.is_ended = True


_READERS: Mapping[str, Callable[[bytes, str, Limits], BodyImages]] = {
    "image/jpeg": _read_encoded,
    "image/png": _read_encoded,
    "application/x-npy": _read_npy,
    "application/json": _read_json,
    "multipart/form-data": _read_form,
}
CONTENT_TYPES = tuple(_READERS)
