"""A question in the Open Inference Protocol: the network's own input, or encoded images."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo_serve.server.body.json_document import decoded, parsed
from prumo_serve.server.body.numbers import array_of_numbers
from prumo_serve.server.refusal import Refusal, too_large, wrong_values
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from prumo_serve.manifest import Manifest

_OUTPUTS = ("probabilities", "label")
DATATYPES = {"float32": "FP32", "uint8": "UINT8"}
_BYTES = "BYTES"


@dataclass(frozen=True)
class TensorRequest:
    """What is asked; either tensors or images are empty."""

    identifier: str | None
    tensors: tuple[np.ndarray, ...]
    """Each in the network's form, without the batch's axis."""
    images: tuple[bytes, ...]
    outputs: tuple[str, ...]


def image_shape(manifest: Manifest) -> tuple[int, int, int]:
    """Of one input of the network, without the batch's axis."""
    wanted = manifest.input
    if wanted.layout == "NCHW":
        return 3, wanted.height, wanted.width
    return wanted.height, wanted.width, 3


def output_names(manifest: Manifest) -> tuple[str, ...]:
    """What an answer has where nothing else is asked for."""
    return *_OUTPUTS, *task_named(manifest.task).outputs


def input_note(manifest: Manifest) -> str:
    """What a tensor skips that an image goes through."""
    note = task_named(manifest.task).tensor_note(manifest)
    return f"{DATATYPES[manifest.input.dtype]} is the network's own input: {note}"


def tensor_request(body: bytes, manifest: Manifest, most_images: int) -> TensorRequest:
    """The question in the body of a request.

    Raises:
        Refusal: It is not one, or not one for this model.
    """
    document = parsed(body)
    if not isinstance(document, dict):
        raise wrong_values("an inference request is a JSON object")
    identifier = document.get("id")
    if identifier is not None and not isinstance(identifier, str):
        raise wrong_values("the id of an inference request is a string")
    outputs = _outputs(document.get("outputs"), output_names(manifest))
    given = _input(document.get("inputs"), manifest)
    shape = _shape(given, most_images)
    if given["datatype"] == _BYTES:
        return TensorRequest(identifier, (), _images(given["data"], shape), outputs)
    tensors = _tensors(given, shape, manifest)
    return TensorRequest(identifier, tuple(tensors), (), outputs)


def _outputs(wanted: object, known: tuple[str, ...]) -> tuple[str, ...]:
    if wanted is None:
        return known
    if not isinstance(wanted, list) or not wanted:
        raise wrong_values("outputs must be a list of objects with a name")
    names = [one.get("name") if isinstance(one, dict) else None for one in wanted]
    if any(name not in known for name in names) or len(set(names)) < len(names):
        raise wrong_values(f"the outputs are {', '.join(known)}, each at most once")
    return tuple(str(name) for name in names)


def _input(inputs: object, manifest: Manifest) -> dict[str, Any]:
    name = manifest.input.tensor
    kinds = (DATATYPES[manifest.input.dtype], _BYTES)
    if not isinstance(inputs, list) or len(inputs) != 1 or not isinstance(inputs[0], dict):
        raise wrong_values(f"there must be one input, {name}")
    given = inputs[0]
    if given.get("name") != name or given.get("datatype") not in kinds:
        raise wrong_values(f"the input must be {name} of the datatype {' or '.join(kinds)}")
    if not isinstance(given.get("data"), list):
        raise wrong_values("the data of the input must be a list")
    return given


def _shape(given: dict[str, Any], most_images: int) -> tuple[int, ...]:
    shape = given.get("shape")
    is_shape = isinstance(shape, list) and all(type(one) is int and one > 0 for one in shape)
    if not is_shape or not shape:
        raise wrong_values("the shape of the input must be a list of whole numbers from 1 on")
    if shape[0] > most_images:
        raise too_large(f"a request may have at most {most_images} images")
    return tuple(shape)


def _images(data: list[Any], shape: tuple[int, ...]) -> tuple[bytes, ...]:
    if len(data) != prod(shape) or shape[0] != len(data):
        raise wrong_values("images have the shape [n], with one string of base64 for each")
    return tuple(_image(number, one) for number, one in enumerate(data))


def _image(number: int, text: object) -> bytes:
    try:
        return decoded(text)
    except Refusal as refusal:
        raise refusal.at(f"data[{number}]") from None


def _tensors(given: dict[str, Any], shape: tuple[int, ...], manifest: Manifest) -> np.ndarray:
    wanted = image_shape(manifest)
    if shape[1:] != wanted:
        raise wrong_values(f"the shape of the input must be {[-1, *wanted]}")
    numbers = array_of_numbers(given["data"])
    if numbers.shape not in {shape, (prod(shape),)}:
        raise wrong_values("the data must be numbers, flat or nested, as many as the shape says")
    if manifest.input.dtype == "uint8":
        is_known = bool(numbers.dtype.kind in "iu" and numbers.min() >= 0 and numbers.max() < 256)  # noqa: PLR2004 (a byte)
    else:
        # What is too large becomes infinite, of which numpy would warn in the log.
        with np.errstate(over="ignore"):
            is_known = bool(np.isfinite(numbers.astype(np.float32)).all())
    if not is_known:
        raise wrong_values(f"the data are not of the datatype {given['datatype']}")
    tensors: np.ndarray = numbers.reshape(shape).astype(manifest.input.dtype)
    return tensors
