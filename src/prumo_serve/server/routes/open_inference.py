"""The Open Inference Protocol, version 2: is it live, is it ready, what is it, and inference."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse
from starlette.routing import Route

from prumo.version import __version__
from prumo_serve.preprocessing.decoding import BadImageError, TooManyPixelsError
from prumo_serve.probability import ScoresError
from prumo_serve.server.body import MOST_IMAGES
from prumo_serve.server.body.tensor_request import (
    DATATYPES,
    image_shape,
    input_note,
    output_names,
    tensor_request,
)
from prumo_serve.server.boundary import read_body
from prumo_serve.server.refusal import (
    Refusal,
    not_ready,
    too_large,
    unreadable_image,
    unsupported_type,
    wrong_values,
)
from prumo_serve.task import PreparedImage, task_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from prumo_serve.manifest import Manifest
    from prumo_serve.server.body.tensor_request import TensorRequest
    from prumo_serve.server.queue import Outcome
    from prumo_serve.server.service import Service
    from prumo_serve.task import Answer, Task

_OUTPUT_TYPES = {"probabilities": "FP32", "label": "BYTES"}


async def server_metadata(_request: Request) -> JSONResponse:
    """Who answers."""
    return JSONResponse({"name": "prumo", "version": __version__, "extensions": []})


async def live(_request: Request) -> JSONResponse:
    """Whether the process answers at all."""
    return JSONResponse({"live": True})


async def ready(request: Request) -> JSONResponse:
    """Whether inference would be answered.

    Raises:
        Refusal: It would not.
    """
    service: Service = request.app.state.service
    if reason := service.why_not_ready():
        raise not_ready(reason)
    return JSONResponse({"ready": True})


async def model_ready(request: Request) -> JSONResponse:
    """The same, of the model by its name."""
    manifest = _manifest(request)
    await ready(request)
    return JSONResponse({"name": manifest.name, "ready": True})


async def model_metadata(request: Request) -> JSONResponse:
    """What the model takes and gives."""
    manifest = _manifest(request)
    return JSONResponse(
        {
            "name": manifest.name,
            "versions": [manifest.version],
            "platform": manifest.network.runtime,
            "inputs": [
                {
                    "name": manifest.input.tensor,
                    "datatype": DATATYPES[manifest.input.dtype],
                    "shape": [-1, *image_shape(manifest)],
                }
            ],
            "outputs": [_described(name, manifest) for name in output_names(manifest)],
            # The protocol names one datatype for a tensor; the other one stands here.
            "parameters": {
                "encoded_images": f"{manifest.input.tensor} is also taken as BYTES of the shape "
                "[-1]: JPEG or PNG files in base64, which are prepared as in training",
                "preprocessing": input_note(manifest),
            },
        }
    )


async def infer(request: Request) -> JSONResponse:
    """Answer tensors or encoded images with probabilities and labels.

    Raises:
        Refusal: The request cannot be answered; one bad image is enough.
    """
    service: Service = request.app.state.service
    engine, manifest = service.engine, _manifest(request)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise unsupported_type("the content type must be application/json")
    with service.bodies.share() as share:
        body = await read_body(request, service.settings.limits, share)
        asked = await engine.call(partial(tensor_request, body, manifest, MOST_IMAGES))
        if asked.images:
            outcomes = await engine.ask(asked.images)
        else:
            outcomes = await engine.ask_prepared(
                [_prepared(one, manifest) for one in asked.tensors]
            )
    answers = [_numbered(number, manifest, one) for number, one in enumerate(outcomes)]
    document: dict[str, Any] = {
        "model_name": manifest.name,
        "model_version": manifest.version,
        "outputs": _outputs(asked, answers, task_named(manifest.task)),
    }
    if asked.identifier is not None:
        document["id"] = asked.identifier
    return JSONResponse(document)


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
    if request.path_params["name"] != manifest.name:
        raise Refusal(
            HTTPStatus.NOT_FOUND,
            "unknown_model",
            "no model of this name is served here; GET /ping names it",
        )
    if request.path_params.get("version", manifest.version) != manifest.version:
        raise Refusal(
            HTTPStatus.NOT_FOUND,
            "unknown_version",
            "the model is not served in this version; GET /ping names the one that is",
        )
    return manifest


def _prepared(tensor: Any, manifest: Manifest) -> PreparedImage:  # noqa: ANN401 (a row of an array)
    return PreparedImage(tensor, None, manifest.input.width, manifest.input.height)


def _numbered(number: int, manifest: Manifest, outcome: Outcome | BadImageError) -> Answer:
    try:
        return _answer(manifest, outcome)
    except Refusal as refusal:
        raise refusal.at(f"data[{number}]") from None


def _answer(manifest: Manifest, outcome: Outcome | BadImageError) -> Answer:
    if isinstance(outcome, TooManyPixelsError):
        raise too_large(str(outcome))
    if isinstance(outcome, BadImageError):
        raise unreadable_image(str(outcome))
    if outcome.scores is None:
        # The protocol has no word for it, and a made-up probability could be taken for one.
        raise wrong_values("an image cannot be judged; /invocations tells why")
    try:
        return task_named(manifest.task).answer(manifest, outcome.scores, outcome.prepared)
    except ScoresError:
        raise wrong_values("the network has no answer to such numbers") from None


def _outputs(asked: TensorRequest, answers: Sequence[Answer], task: Task) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "datatype": _datatype(name, task),
            "shape": [len(answers), *([len(answers[0].labels)] if name == "probabilities" else [])],
            "data": [value for one in answers for value in _values(name, one, task)],
        }
        for name in asked.outputs
    ]


def _values(name: str, answer: Answer, task: Task) -> Sequence[float | str | bool | None]:
    if name == "probabilities":
        return answer.probabilities
    return [answer.label if name == "label" else task.output_value(name, answer)]


def _datatype(name: str, task: Task) -> str:
    return _OUTPUT_TYPES.get(name) or task.outputs[name]


def _described(name: str, manifest: Manifest) -> dict[str, Any]:
    shape = [-1, len(manifest.labels)] if name == "probabilities" else [-1]
    return {"name": name, "datatype": _datatype(name, task_named(manifest.task)), "shape": shape}
