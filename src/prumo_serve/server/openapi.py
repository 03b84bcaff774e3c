"""What the server takes and gives, described for programs: an OpenAPI 3.1 document.

Bodies are described by the pydantic models that read and write them; only what HTTP adds (paths,
parameters, content types, statuses) is written here.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from prumo.report.language import LANGUAGES
from prumo.version import __version__
from prumo_serve.server.inference_request import inference_request, model_form
from prumo_serve.server.models import EncodedImage, Error, Instances, OpenInferenceError
from prumo_serve.server.open_inference import Inference, Live, ModelMetadata, Server, ServerReady

if TYPE_CHECKING:
    from prumo_serve.server.model_holder import ServedModel
    from prumo_serve.server.settings import Limits

_JSON = "application/json"
_REF = "#/components/schemas/{model}"
_TEXT = {"type": "string"}
_BINARY = {"type": "string", "format": "binary", "minLength": 1}
_FILES = {"type": "array", "items": _BINARY}
_REASONS = {
    400: "The body is not what its content type says, or an image cannot be read.",
    404: "There is no model of this name.",
    408: "The headers or the body took too long to arrive.",
    411: "The request has no body.",
    413: "The body, an image or the number of images is too large.",
    415: "The content type is not supported.",
    422: "The form is right, but a shape or a value is not.",
    429: "The queue is full; try again later.",
    431: "The headers are too large.",
    503: "The server is not ready, or the time limit came before the request's turn.",
    504: "The answer took longer than it may.",
}
_BODY_ERRORS = (400, 408, 411, 413, 415, 422, 429, 431, 503, 504)
"""What can become of a request with a body."""
# Also answered before a request reaches its route, by the connection or by NGINX, in the form of
# all other paths.
_EDGE_ERRORS = {400, 408, 413, 431, 503, 504}


class Document(BaseModel):
    """An OpenAPI document."""

    model_config = ConfigDict(extra="allow")

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]


class _Schemas(GenerateJsonSchema):
    """Without titles that only repeat names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401 (as pydantic's)
        """Never: the key says it."""
        del schema
        return False


def openapi_document(model: ServedModel, limits: Limits) -> dict[str, Any]:
    """The description of a server of this model with these limits."""
    manifest = model.manifest
    infer = _request_schema(inference_request(model_form(manifest)))
    models: list[type[BaseModel]] = [
        *(Error, OpenInferenceError, Document),
        *(model.predictions.ready, model.predictions.one, model.predictions.several),
        *(Server, Live, ServerReady, ModelMetadata, Inference),
    ]
    _, schemas = models_json_schema(
        [(one, "validation") for one in models], ref_template=_REF, schema_generator=_Schemas
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"Prumo: {manifest.name}",
            "version": manifest.version or __version__,
            "description": "Answers of a packaged model: SageMaker's contract, the Open Inference "
            "Protocol, metrics for Prometheus and a page for people.",
        },
        "paths": {
            "/": {"get": _page()},
            "/ping": _get("ping", "Whether a request would be answered now.", "Ready", 503),
            "/invocations": {"post": _invocations(limits)},
            "/v2": _get("server_metadata", "Who answers.", "Server"),
            "/v2/health/live": _get("live", "Whether the process answers.", "Live"),
            "/v2/health/ready": _get(
                "ready", "Whether inference would be answered.", "ServerReady", 503, is_v2=True
            ),
            **_model_paths("/v2/models/{name}", infer, name=manifest.name),
            **_model_paths(
                "/v2/models/{name}/versions/{version}",
                infer,
                name=manifest.name,
                version=manifest.version,
            ),
            "/metrics": {
                "get": _operation(
                    "metrics", "Counts and times for Prometheus.", "text/plain", _TEXT
                )
            },
            "/openapi.json": _get("openapi", "This document.", "Document", 503),
        },
        "components": {"schemas": schemas["$defs"]},
    }


def _request_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Of a request's body, without references: fuzzers hardly vary what stands behind one."""
    schema = model.model_json_schema(schema_generator=_Schemas)
    inlined: dict[str, Any] = _inlined(schema, schema.pop("$defs", {}))
    return inlined


def _inlined(schema: Any, parts: dict[str, Any]) -> Any:  # noqa: ANN401 (any JSON value)
    if isinstance(schema, list):
        return [_inlined(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {key: _inlined(value, parts) for key, value in schema.items()}


def _schema(name: str) -> dict[str, Any]:
    return {"$ref": _REF.format(model=name)}


def _operation(
    name: str, summary: str, media_type: str, schema: dict[str, Any], description: str = ""
) -> dict[str, Any]:
    """An operation that answers with this schema."""
    answer = {
        "description": description or HTTPStatus.OK.phrase,
        "content": {media_type: {"schema": schema}},
    }
    return {"operationId": name, "summary": summary, "responses": {"200": answer}}


def _refused(*statuses: int, is_v2: bool = False) -> dict[str, Any]:
    """Errors of these statuses, by status."""
    ours, theirs = _schema("Error"), _schema("OpenInferenceError")
    either = {"anyOf": [theirs, ours]}
    found = {}
    for status in statuses:
        schema = (either if status in _EDGE_ERRORS else theirs) if is_v2 else ours
        content = {_JSON: {"schema": schema}}
        found[str(status)] = {"description": _REASONS[status], "content": content}
    return found


def _get(
    name: str, summary: str, answer: str, *errors: int, is_v2: bool = False
) -> dict[str, dict[str, Any]]:
    operation = _operation(name, summary, _JSON, _schema(answer))
    operation["responses"] |= _refused(*errors, is_v2=is_v2)
    return {"get": operation}


def _model_paths(path: str, body: dict[str, Any], **parts: str) -> dict[str, Any]:
    """With a version or without one, which is the same: only one is served."""
    suffix = "_version" if "version" in parts else ""
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"enum": [value]}}
        for name, value in parts.items()
    ]
    infer = _operation(
        f"infer{suffix}",
        "Probabilities and labels for tensors or encoded images.",
        _JSON,
        _schema("Inference"),
    )
    infer["responses"] |= _refused(404, *_BODY_ERRORS, is_v2=True)
    infer["requestBody"] = {"required": True, "content": {_JSON: {"schema": body}}}
    metadata = ("What it takes and gives.", "ModelMetadata", 404, 503)
    ready = ("Whether it would answer.", "ServerReady", 404, 503)
    operations = {
        path: _get(f"model_metadata{suffix}", *metadata, is_v2=True),
        f"{path}/ready": _get(f"model_ready{suffix}", *ready, is_v2=True),
        f"{path}/infer": {"post": infer},
    }
    return {name: {"parameters": parameters, **found} for name, found in operations.items()}


def _parameter(name: str, place: str, description: str, **schema: object) -> dict[str, Any]:
    return {"name": name, "in": place, "description": description, "schema": schema}


def _invocations(limits: Limits) -> dict[str, Any]:
    operation = _operation(
        "invoke",
        "What the model says of an image, or of several.",
        _JSON,
        {"anyOf": [_schema("Prediction"), _schema("Predictions")]},
        "A prediction for one image, a list for a list.",
    )
    operation["responses"] |= _refused(*_BODY_ERRORS)
    operation["parameters"] = [
        _parameter("lang", "query", "Of the texts for people.", enum=list(LANGUAGES), default="en"),
        _parameter(
            "heat_map",
            "query",
            "Whether to draw which regions support the answer.",
            enum=["true", "false", "1", "0"],
            default="false",
        ),
        _parameter(
            "X-Amzn-SageMaker-Custom-Attributes",
            "header",
            "Returned in the answer as it is.",
            type="string",
            maxLength=1024,
            pattern="^([!-~]([ -~]*[!-~])?)?$",
        ),
    ]
    operation["requestBody"] = {
        "required": True,
        "description": f"At most {limits.body_bytes} bytes.",
        "content": _contents(),
    }
    return operation


def _contents() -> dict[str, Any]:
    return {
        "image/jpeg": {"schema": {**_BINARY, "description": "Also as image/jpg."}},
        "image/png": {"schema": _BINARY},
        "application/x-npy": {
            "schema": {
                **_BINARY,
                "description": "An array as numpy saves it: uint8 or float32 from 0 to 255, "
                "(height, width, 3) or (images, height, width, 3).",
            }
        },
        _JSON: {"schema": {"anyOf": [_request_schema(one) for one in (EncodedImage, Instances)]}},
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "description": "One file or several, whatever their fields are called.",
                "minProperties": 1,
                "properties": {"file": {**_FILES, "minItems": 1}},
                "additionalProperties": _FILES,
            }
        },
    }


def _page() -> dict[str, Any]:
    operation = _operation("page", "A page for people.", "text/html", _TEXT, "The page.")
    description = "Of the page; otherwise the browser's, or English."
    operation["parameters"] = [_parameter("lang", "query", description, type="string")]
    operation["responses"]["503"] = {
        "description": "The model is being loaded.",
        "content": {"text/html": {"schema": _TEXT}},
    }
    return operation
