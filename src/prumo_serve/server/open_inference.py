"""The Open Inference Protocol, version 2: is it live, is it ready, what is it, and inference."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field
from starlette.routing import Route

from prumo.version import __version__
from prumo_serve.classification import ScoresError
from prumo_serve.preprocessing.decoding import BadImageError
from prumo_serve.server.boundary import read_body
from prumo_serve.server.inference_request import model_form, tensor_request
from prumo_serve.server.models import Body, ModelResponse
from prumo_serve.server.refusal import (
    Refusal,
    each,
    refused_image,
    unsupported_type,
    wrong_values,
)
from prumo_serve.task import PreparedImage, task_named

if TYPE_CHECKING:
    from starlette.requests import Request

    from prumo_serve.manifest import Manifest
    from prumo_serve.server.queue import Outcome
    from prumo_serve.server.service import Service
    from prumo_serve.task import Answer, Task

_OUTPUT_TYPES = {"probabilities": "FP32", "label": "BYTES"}

_Named = Annotated[str, Field(min_length=1)]


class Server(BaseModel):
    """Who answers."""

    name: _Named
    version: _Named
    extensions: list[_Named]


class Live(BaseModel):
    """The process answers."""

    live: Literal[True] = True


class ServerReady(BaseModel):
    """Inference is answered."""

    name: _Named = ""
    ready: Literal[True] = True


class Tensor(Body):
    """A tensor's name and form, and in an answer its values."""

    name: str
    datatype: str
    shape: list[int]
    data: list[Any] = Field(default_factory=list)


class ModelMetadata(BaseModel):
    """What the model takes and gives."""

    name: _Named
    versions: list[str]
    platform: _Named
    inputs: Annotated[list[Tensor], Field(min_length=1)]
    outputs: Annotated[list[Tensor], Field(min_length=1)]
    parameters: Annotated[
        dict[str, str], Field(description="What the protocol has no other place for.")
    ] = {}


class Inference(BaseModel):
    """The outputs of the model."""

    model_name: _Named
    model_version: str
    outputs: Annotated[list[Tensor], Field(min_length=1)]
    id: str = ""


async def server_metadata(_request: Request) -> ModelResponse:
    """Who answers."""
    return ModelResponse(Server(name="prumo", version=__version__, extensions=[]))


async def live(_request: Request) -> ModelResponse:
    """Whether the process answers at all."""
    return ModelResponse(Live(live=True))


async def ready(request: Request) -> ModelResponse:
    """Whether inference would be answered."""
    service: Service = request.app.state.service
    service.require_ready()
    return ModelResponse(ServerReady(ready=True))


async def model_ready(request: Request) -> ModelResponse:
    """The same, of the model by its name."""
    manifest = _manifest(request)
    await ready(request)
    return ModelResponse(ServerReady(name=manifest.name, ready=True))


async def model_metadata(request: Request) -> ModelResponse:
    """What the model takes and gives."""
    manifest = _manifest(request)
    form, task = model_form(manifest), task_named(manifest.task)
    shapes = {name: [-1] for name in form.outputs}
    shapes["probabilities"] = [-1, len(manifest.labels)]
    metadata = ModelMetadata(
        name=manifest.name,
        versions=[manifest.version],
        platform=manifest.network.runtime,
        inputs=[Tensor(name=form.tensor, datatype=form.datatype, shape=[-1, *form.shape])],
        outputs=[
            Tensor(name=name, datatype=_datatype(name, task), shape=shapes[name])
            for name in form.outputs
        ],
        # The protocol names one datatype for a tensor; the other one stands here.
        parameters={
            "encoded_images": f"{form.tensor} is also taken as BYTES of the shape "
            "[-1]: JPEG or PNG files in base64, which are prepared as in training",
            "preprocessing": form.note,
        },
    )
    return ModelResponse(metadata)


async def infer(request: Request) -> ModelResponse:
    """Answer tensors or encoded images with probabilities and labels; all of them or none."""
    service: Service = request.app.state.service
    engine, manifest = service.engine, _manifest(request)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise unsupported_type("the content type must be application/json")
    with service.bodies.share() as take:
        body = await read_body(request, service.settings.limits, take)
        asked = await engine.call(partial(tensor_request, body, model_form(manifest)))
        size = manifest.input.width, manifest.input.height
        tensors = [PreparedImage(one, None, *size) for one in asked.tensors]
        outcomes = await engine.ask(asked.images, tensors)
    answers = list(each("data", partial(_answer, manifest), outcomes))
    task = task_named(manifest.task)
    identifier: dict[str, Any] = {} if asked.identifier is None else {"id": asked.identifier}
    return ModelResponse(
        Inference.model_construct(
            model_name=manifest.name,
            model_version=manifest.version,
            **identifier,
            outputs=[_output(name, answers, task) for name in asked.outputs],
        )
    )


_VERSION = "/v2/models/{name}/versions/{version}"
ROUTES = [
    Route("/v2", server_metadata),
    Route("/v2/health/live", live),
    Route("/v2/health/ready", ready),
    # Before those without a version, under whose paths the metrics count both.
    Route(_VERSION, model_metadata),
    Route(f"{_VERSION}/ready", model_ready),
    Route(f"{_VERSION}/infer", infer, methods=["POST"]),
    Route("/v2/models/{name}", model_metadata),
    Route("/v2/models/{name}/ready", model_ready),
    Route("/v2/models/{name}/infer", infer, methods=["POST"]),
]


def _manifest(request: Request) -> Manifest:
    service: Service = request.app.state.service
    manifest = service.model.manifest
    unknown = partial(Refusal, HTTPStatus.NOT_FOUND)
    if request.path_params["name"] != manifest.name:
        raise unknown("unknown_model", "no model of this name is served here; GET /ping names it")
    if request.path_params.get("version", manifest.version) != manifest.version:
        raise unknown(
            "unknown_version",
            "the model is not served in this version; GET /ping names the one that is",
        )
    return manifest


def _answer(manifest: Manifest, outcome: Outcome | BadImageError) -> Answer:
    if isinstance(outcome, BadImageError):
        raise refused_image(outcome.kind, str(outcome))
    if outcome.scores is None:
        # The protocol has no word for it, and a made-up probability could be taken for one.
        raise wrong_values("an image cannot be judged; /invocations tells why")
    try:
        return task_named(manifest.task).answer(manifest, outcome.scores, outcome.prepared)
    except ScoresError:
        raise wrong_values("the network has no answer to such numbers") from None


def _output(name: str, answers: Sequence[Answer], task: Task) -> Tensor:
    shape = [len(answers)]
    data: list[float | str | bool | None]
    if name == "probabilities":
        shape.append(len(answers[0].labels))
        data = list(chain.from_iterable(one.probabilities for one in answers))
    elif name == "label":
        data = [one.label for one in answers]
    else:
        data = [task.output_value(name, one) for one in answers]
    return Tensor.model_construct(name=name, datatype=_datatype(name, task), shape=shape, data=data)


def _datatype(name: str, task: Task) -> str:
    return _OUTPUT_TYPES.get(name) or task.outputs[name]
