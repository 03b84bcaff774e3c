"""Bodies of requests and answers as pydantic models.

Routes validate and build them, and the OpenAPI document is generated from them. Arrays of numbers
are the exception: they are read by hand, because that is several times faster, and only described
here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, WithJsonSchema, create_model
from starlette.responses import Response

from prumo_serve.server.settings import Limits
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

    from prumo_serve.manifest import Manifest

MOST_IMAGES = Limits.images


@dataclass(frozen=True)
class DescribedAs:
    """The schema of another type, for values that are checked by hand."""

    kind: Any

    def __get_pydantic_json_schema__(
        self, _schema: object, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the other type in place of this one."""
        return handler(TypeAdapter(self.kind).core_schema)


class Body(BaseModel):
    """A JSON object without other keys than those that it declares."""

    model_config = ConfigDict(extra="forbid")


class ModelResponse(Response):
    """An answer of status 200; fields that were not given are left out."""

    media_type = "application/json"

    def render(self, content: BaseModel) -> bytes:
        """The model as JSON."""
        # A task's own document may be plain values where its model names types of its own.
        return content.__pydantic_serializer__.to_json(content, exclude_unset=True, warnings=False)


Base64 = Annotated[
    str,
    WithJsonSchema(
        {
            "description": "A JPEG or PNG in base64, or as a data URL.",
            "type": "string",
            "minLength": 4,
            "pattern": "^(?:data:image/(?:jpeg|jpg|png);base64,)?"
            "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        }
    ),
]
_Channels = Annotated[
    list[Annotated[float, Field(ge=0, le=255)]], Field(min_length=3, max_length=3)
]
Pixels = Annotated[
    list[Annotated[list[_Channels], Field(min_length=1)]],
    Field(
        min_length=1, description="Height x width x 3 from 0 to 255, with rows of equal lengths."
    ),
]
_Seconds = Annotated[float, Field(ge=0)]


class EncodedImage(Body):
    """An image in base64."""

    image: Base64
    name: str = ""


class EncodedInstance(Body):
    """The same as TensorFlow Serving's clients write it."""

    b64: Base64
    name: str = ""


class Instances(Body):
    """Several images, encoded or as numbers."""

    instances: Annotated[
        list[Any],
        DescribedAs(
            Annotated[
                list[EncodedImage | EncodedInstance | Pixels],
                Field(min_length=1, max_length=MOST_IMAGES),
            ]
        ),
    ]
    signature_name: Annotated[
        Any, Field(description="Of TensorFlow Serving's clients; ignored.")
    ] = None


class ErrorDetail(Body):
    """Why a request was refused."""

    kind: Annotated[str, Field(description="For programs.")]
    message: Annotated[str, Field(description="For people.")]


class Error(Body):
    """A refusal."""

    error: ErrorDetail


class OpenInferenceError(Body):
    """A refusal as the Open Inference Protocol has it."""

    error: str


class NamedImage(Body):
    """An image that has a name."""

    name: Annotated[str, Field(description="As the sender calls the image.")] = ""


class ListedError(NamedImage):
    """One image of several that cannot be read."""

    error: ErrorDetail


class ModelName(Body):
    """Which model answers."""

    name: str
    version: str


class Ready(Body):
    """The server answers requests."""

    status: Literal["ready"] = "ready"
    model: ModelName


class Timings(Body):
    """What an image spent where."""

    decode_seconds: _Seconds
    preprocess_seconds: _Seconds
    queue_seconds: _Seconds
    predict_seconds: _Seconds


class TotalTimings(Timings):
    """The same with the time of the whole request."""

    total_seconds: _Seconds


class Latencies(Body):
    """In seconds, under the names that clients of earlier servers expect."""

    requestLatency: _Seconds  # noqa: N815 (the name in JSON)
    predictionLatency: _Seconds  # noqa: N815 (the name in JSON)


class BootId(Body):
    """Which start of the server answers."""

    boot_id: Annotated[str, Field(description="Differs for every start of the server.")]


class Envelope(Body):
    """What the server adds to a task's answer."""

    heat_map: Annotated[
        str | None,
        Field(
            description="A data URL of a PNG, where it was asked for and can be made.",
            pattern="^data:image/png;base64,",
        ),
    ] = None
    heat_map_reason: Annotated[
        str, Field(description="Why heat_map is null, in the wanted language.")
    ] = ""
    model: ModelName
    timings: Timings
    batch_size: Annotated[int, Field(ge=0)]


class PredictionList(Body):
    """A prediction or an error for each image."""

    predictions: list[Any]


@dataclass(frozen=True)
class PredictionModels:
    """What `POST /invocations` and `GET /ping` answer, for one served model."""

    one: type[BaseModel]
    listed: type[BaseModel]
    several: type[BaseModel]
    ready: type[BaseModel]
    name: ModelName
    """Of the served model, as every answer has it."""


def prediction_models(manifest: Manifest) -> PredictionModels:
    """The answer of the model's task in the server's envelope."""
    answer = _answer_model(manifest)
    known: dict[str, Any] = {
        "name": Literal[manifest.name],
        "version": Literal[manifest.version],
    }
    name: Any = create_model("Model", __base__=ModelName, **known)
    # JSON has the fields of the last base first.
    bases = (Envelope, answer, NamedImage)
    listed: Any = create_model("ListedPrediction", __base__=bases, model=name)
    return PredictionModels(
        one=create_model(
            "Prediction", __base__=(BootId, Latencies, *bases), model=name, timings=TotalTimings
        ),
        listed=listed,
        several=create_model(
            "Predictions",
            __base__=(BootId, Latencies, PredictionList),
            predictions=Annotated[list[listed | ListedError], Field(min_length=1)],
        ),
        ready=create_model("Ready", __base__=Ready, model=name),
        name=name(name=manifest.name, version=manifest.version),
    )


def _answer_model(manifest: Manifest) -> type[BaseModel]:
    """The task's answer to one image, with the labels that the model knows."""
    label: Any = Literal[manifest.labels]
    fields: dict[str, Any] = {
        "label": label | None,
        "probabilities": Annotated[
            dict[label, Annotated[float, Field(ge=0, le=1)]],
            Field(description="Empty where an image cannot be judged."),
        ],
    }
    return create_model("Answer", __base__=task_named(manifest.task).answer_model, **fields)
