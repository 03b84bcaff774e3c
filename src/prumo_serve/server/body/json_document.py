"""application/json: images as base64, or as numbers as TensorFlow Serving takes them."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import TYPE_CHECKING, Any, Never

import numpy as np

from prumo_serve.server.body import BodyImage, BodyImages
from prumo_serve.server.body.numbers import (
    array_of_numbers,
    require_image_shape,
    require_pixel_values,
)
from prumo_serve.server.refusal import Refusal, malformed, too_large, wrong_values

if TYPE_CHECKING:
    from prumo_serve.server.body import BodyLimits

_FORM = (
    'the document must be {"image": base64} or {"instances": [...]}, each instance '
    '{"image": base64}, {"b64": base64} or numbers (height, width, 3)'
)
_IGNORED = {"signature_name"}
"""What clients of TensorFlow Serving add."""
_ENCODED = ("image", "b64")
_DATA_URL = re.compile(r"\Adata:image/(?:jpeg|jpg|png);base64,", re.IGNORECASE)
"""How a browser's FileReader begins."""


def read(body: bytes, _content_type: str, limits: BodyLimits) -> BodyImages:
    """One image, or a list of instances."""
    document = parsed(body)
    if not isinstance(document, dict):
        raise wrong_values(_FORM)
    if "instances" not in document:
        return BodyImages((_instance(document, limits),), is_list=False)
    instances = document["instances"]
    if document.keys() - {"instances"} - _IGNORED or not isinstance(instances, list):
        raise wrong_values(_FORM)
    if not instances:
        raise wrong_values("there must be one instance at least")
    if len(instances) > limits.images:
        raise too_large(f"a request may have at most {limits.images} images")
    images = (_numbered(number, one, limits) for number, one in enumerate(instances))
    return BodyImages(tuple(images), is_list=True)


def parsed(body: bytes) -> Any:  # noqa: ANN401 (any JSON value)
    """A JSON document, by the letter of the standard and not nested beyond reason."""
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except ValueError:
        raise malformed("the body is not JSON") from None
    except RecursionError:
        raise malformed("the JSON document is nested too deeply") from None


def decoded(text: object) -> bytes:
    """The bytes behind base64, by the letter of RFC 4648: no line ends, no missing padding.

    A data URL of a JPEG or PNG is taken too.
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


def _numbered(number: int, instance: object, limits: BodyLimits) -> BodyImage:
    try:
        return _instance(instance, limits)
    except Refusal as refusal:
        raise refusal.at(f"instances[{number}]") from None


def _instance(instance: object, limits: BodyLimits) -> BodyImage:
    if isinstance(instance, list):
        return BodyImage(_pixels(instance, limits.pixels))
    if not isinstance(instance, dict):
        raise wrong_values(_FORM)
    name = instance.get("name", "")
    given = [key for key in _ENCODED if key in instance]
    if len(given) != 1 or instance.keys() - {*given, "name"} or not isinstance(name, str):
        raise wrong_values(_FORM)
    return BodyImage(decoded(instance[given[0]]), name)


def _pixels(numbers: list[Any], most_pixels: int) -> np.ndarray:
    pixels = array_of_numbers(numbers)
    require_image_shape(pixels.shape, most_pixels)
    require_pixel_values(pixels)
    return pixels.astype(np.float32 if pixels.dtype.kind == "f" else np.uint8)


def _refuse_constant(name: str) -> Never:
    raise ValueError(name)
