"""Requests of the Open Inference Protocol: the network's own input, or encoded images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, ValidationError, create_model

from prumo_serve.server.bodies import array_of_numbers, decoded_base64, parsed_json
from prumo_serve.server.models import MOST_IMAGES, Base64, DescribedAs
from prumo_serve.server.refusal import Refusal, each, too_large, wrong_values
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from prumo_serve.manifest import Manifest

_DATATYPES = {"float32": "FP32", "uint8": "UINT8"}
_BYTES = "BYTES"
_OUTPUTS = ("probabilities", "label")


class InferenceRequest(BaseModel):
    """Images or tensors, and which outputs are wanted.

    `inference_request` makes it for a model: fields stand in the order in which they are checked.
    """

    id: str | None = None
    outputs: list[Any] | None = None
    inputs: list[Any]


@dataclass(frozen=True)
class ModelForm:
    """What requests to a model look like."""

    tensor: str
    datatype: str
    shape: tuple[int, int, int]
    """Of one input of the network, without the batch's axis."""
    outputs: tuple[str, ...]
    note: str
    """What a tensor skips that an image goes through."""


@dataclass(frozen=True)
class TensorRequest:
    """What is asked; either tensors or images are empty."""

    identifier: str | None
    tensors: tuple[np.ndarray, ...]
    """Each in the network's form, without the batch's axis."""
    images: tuple[bytes, ...]
    outputs: tuple[str, ...]


def model_form(manifest: Manifest) -> ModelForm:
    """The form of requests to the model of a manifest."""
    wanted, datatype = manifest.input, _DATATYPES[manifest.input.dtype]
    task = task_named(manifest.task)
    return ModelForm(
        wanted.tensor,
        datatype,
        wanted.shape,
        (*_OUTPUTS, *task.outputs),
        f"{datatype} is the network's own input: {task.tensor_note(manifest)}",
    )


@lru_cache(maxsize=1)
def inference_request(form: ModelForm) -> type[InferenceRequest]:
    """The body of a request, with the model's own input and outputs."""
    name: dict[str, Any] = {"name": Literal[form.outputs]}
    output: Any = create_model("WantedOutput", **name)
    images: Any = _input_model(
        form.tensor,
        _BYTES,
        (),
        Annotated[list[Base64], Field(min_length=1)],
        "JPEG or PNG images in base64, as many as the shape says.",
    )
    numbers: Any = _input_model(
        form.tensor,
        form.datatype,
        form.shape,
        Annotated[list[Any], Field(min_length=1, max_length=MOST_IMAGES * prod(form.shape))],
        f"{form.note} Flat or nested, as many as the shape says.",
    )
    either: Any = images | numbers
    wanted = Annotated[
        list[output],
        Field(min_length=1, max_length=len(form.outputs)),
        AfterValidator(_each_once),
    ]
    fields: dict[str, Any] = {
        "outputs": (wanted | None, None),
        "inputs": Annotated[
            list[Annotated[either, Field(discriminator="datatype")]],
            Field(min_length=1, max_length=1),
            DescribedAs(Annotated[list[either], Field(min_length=1, max_length=1)]),
        ],
    }
    return create_model("InferenceRequest", __base__=InferenceRequest, **fields)


def _each_once(outputs: list[Any]) -> list[Any]:
    if len({one.name for one in outputs}) < len(outputs):
        raise ValueError("an output is named twice")
    return outputs


def _input_model(
    tensor: str, datatype: str, image: tuple[int, ...], data: object, description: str
) -> Any:  # noqa: ANN401 (a type that mypy cannot know)
    count = Annotated[int, Field(ge=1, le=MOST_IMAGES)]
    shape: Any = tuple[(count, *(Literal[length] for length in image))]  # type: ignore[misc] # made here
    length = Annotated[int, Field(strict=True, ge=1)]
    # In the order in which they are checked; the numbers and images themselves come last.
    fields: dict[str, Any] = {
        "name": Literal[tensor],
        "datatype": Literal[datatype],
        "data": Annotated[list[Any], DescribedAs(data)],
        "shape": Annotated[list[length], Field(min_length=1), DescribedAs(shape)],
    }
    return create_model(f"{datatype}Input", __doc__=description, **fields)


def tensor_request(body: bytes, form: ModelForm) -> TensorRequest:
    """What the body of a request asks for, if it is one for this model."""
    try:
        asked = inference_request(form).model_validate(parsed_json(body))
    except ValidationError as error:
        raise _refusal(error, form) from None
    outputs = tuple(one.name for one in asked.outputs or ()) or form.outputs
    (given,) = asked.inputs
    if given.shape[0] > MOST_IMAGES:
        raise too_large(f"a request may have at most {MOST_IMAGES} images")
    if given.datatype == _BYTES:
        if not len(given.data) == given.shape[0] == prod(given.shape):
            raise wrong_values("images have the shape [n], with one string of base64 for each")
        images = tuple(each("data", decoded_base64, given.data))
        return TensorRequest(asked.id, (), images, outputs)
    return TensorRequest(asked.id, tuple(_tensors(given.data, given.shape, form)), (), outputs)


def _refusal(error: ValidationError, form: ModelForm) -> Refusal:
    """The first thing that is wrong, in words."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place, kind = first["loc"], first["type"]
    match place:
        case ():
            message = "an inference request is a JSON object"
        case ("id", *_):
            message = "the id of an inference request is a string"
        case ("outputs",) if kind in {"list_type", "too_short"}:
            message = "outputs must be a list of objects with a name"
        case ("outputs", *_):
            message = f"the outputs are {', '.join(form.outputs)}, each at most once"
        case ("inputs", _, _, "data", *_):
            message = "the data of the input must be a list"
        case ("inputs", _, _, "shape", *_):
            message = "the shape of the input must be a list of whole numbers from 1 on"
        case _ if place[-1] == "name" or kind.startswith("union_tag"):
            message = f"the input must be {form.tensor} of the datatype {form.datatype} or {_BYTES}"
        case _:
            message = f"there must be one input, {form.tensor}"
    return wrong_values(message)


def _tensors(data: list[Any], shape: list[int], form: ModelForm) -> np.ndarray:
    if tuple(shape[1:]) != form.shape:
        raise wrong_values(f"the shape of the input must be {[-1, *form.shape]}")
    numbers = array_of_numbers(data)
    if numbers.shape not in {tuple(shape), (prod(shape),)}:
        raise wrong_values("the data must be numbers, flat or nested, as many as the shape says")
    dtype = np.dtype(np.uint8 if form.datatype == "UINT8" else np.float32)
    if dtype == np.uint8:
        is_known = bool(numbers.dtype.kind in "iu" and numbers.min() >= 0 and numbers.max() < 256)  # noqa: PLR2004 (a byte)
    else:
        # What is too large becomes infinite, of which numpy would warn in the log.
        with np.errstate(over="ignore"):
            is_known = bool(np.isfinite(numbers.astype(np.float32)).all())
    if not is_known:
        raise wrong_values(f"the data are not of the datatype {form.datatype}")
    tensors: np.ndarray = numbers.reshape(shape).astype(dtype)
    return tensors
