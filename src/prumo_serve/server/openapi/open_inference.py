"""How the Open Inference Protocol is described, with the model's own name, tensor and shape."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from prumo_serve.server.body import MOST_IMAGES
from prumo_serve.server.body.tensor_request import DATATYPES, image_shape, input_note, output_names
from prumo_serve.server.openapi.invocations import BASE64
from prumo_serve.server.openapi.response import QUESTION_ERRORS, answered, refused

if TYPE_CHECKING:
    from prumo_serve.manifest import Manifest

_ERROR = "OpenInferenceError"
_TENSOR = {
    "type": "object",
    "required": ["name", "datatype", "shape"],
    "properties": {
        "name": {"type": "string"},
        "datatype": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer"}},
        "data": {"type": "array"},
    },
    "additionalProperties": False,
}
_TENSORS = {"type": "array", "items": _TENSOR, "minItems": 1}
_NAMED = {"type": "string", "minLength": 1}

OPEN_INFERENCE_SCHEMAS: dict[str, Any] = {
    "Server": {
        "type": "object",
        "required": ["name", "version", "extensions"],
        "properties": {
            "name": _NAMED,
            "version": _NAMED,
            "extensions": {"type": "array", "items": _NAMED},
        },
    },
    "Live": {"type": "object", "required": ["live"], "properties": {"live": {"const": True}}},
    "ServerReady": {
        "type": "object",
        "required": ["ready"],
        "properties": {"name": _NAMED, "ready": {"const": True}},
    },
    "ModelMetadata": {
        "type": "object",
        "required": ["name", "versions", "platform", "inputs", "outputs"],
        "properties": {
            "name": _NAMED,
            "versions": {"type": "array", "items": {"type": "string"}},
            "platform": _NAMED,
            "inputs": _TENSORS,
            "outputs": _TENSORS,
            "parameters": {
                "description": "What the protocol has no other place for.",
                "type": "object",
                "additionalProperties": {"type": "string"},
            },
        },
    },
    "Inference": {
        "type": "object",
        "required": ["model_name", "model_version", "outputs"],
        "properties": {
            "model_name": _NAMED,
            "model_version": {"type": "string"},
            "id": {"type": "string"},
            "outputs": _TENSORS,
        },
    },
}


def open_inference_paths(manifest: Manifest) -> dict[str, Any]:
    """All paths below /v2."""
    name, version = _parameter("name", manifest.name), _parameter("version", manifest.version)
    return {
        "/v2": {"get": _asked("server_metadata", "Who answers.", "Server")},
        "/v2/health/live": {"get": _asked("live", "Whether the process answers.", "Live")},
        "/v2/health/ready": {
            "get": _asked(
                "ready",
                "Whether inference would be answered.",
                "ServerReady",
                refused(503, error=_ERROR),
            )
        },
        **_model_paths("/v2/models/{name}", [name], manifest),
        **_model_paths("/v2/models/{name}/versions/{version}", [name, version], manifest),
    }


def _model_paths(path: str, parameters: list[dict[str, Any]], manifest: Manifest) -> dict[str, Any]:
    """With a version or without one, which is the same: only one is served."""
    suffix = "_version" if len(parameters) > 1 else ""
    not_here = refused(404, 503, error=_ERROR)
    metadata = _asked(
        f"model_metadata{suffix}", "What it takes and gives.", "ModelMetadata", not_here
    )
    ready = _asked(f"model_ready{suffix}", "Whether it would answer.", "ServerReady", not_here)
    infer = _asked(
        f"infer{suffix}",
        "Probabilities and labels for tensors or encoded images.",
        "Inference",
        refused(404, *QUESTION_ERRORS, error=_ERROR),
    )
    body = {"required": True, "content": {"application/json": {"schema": _question(manifest)}}}
    return {
        path: {"parameters": parameters, "get": metadata},
        f"{path}/ready": {"parameters": parameters, "get": ready},
        f"{path}/infer": {"parameters": parameters, "post": {**infer, "requestBody": body}},
    }


def _parameter(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"enum": [value]}}


def _asked(
    name: str, summary: str, answer: str, errors: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "responses": {"200": answered(answer), **(errors or {})},
    }


def _question(manifest: Manifest) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["inputs"],
        "properties": {
            "id": {"type": "string"},
            "inputs": {
                "type": "array",
                "minItems": 1,
                "maxItems": 1,
                "items": {"anyOf": [_images(manifest), _tensor(manifest)]},
            },
            "outputs": {
                "type": "array",
                "minItems": 1,
                "maxItems": len(output_names(manifest)),
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"enum": list(output_names(manifest))}},
                },
            },
        },
    }


def _images(manifest: Manifest) -> dict[str, Any]:
    return {
        "description": "JPEG or PNG images in base64, as many as the shape says.",
        "type": "object",
        "required": ["name", "shape", "datatype", "data"],
        "properties": {
            "name": {"const": manifest.input.tensor},
            "datatype": {"const": "BYTES"},
            "shape": _shape([]),
            "data": {"type": "array", "minItems": 1, "items": BASE64},
        },
    }


def _tensor(manifest: Manifest) -> dict[str, Any]:
    shape = list(image_shape(manifest))
    return {
        "description": f"{input_note(manifest)} Flat or nested, as many as the shape says.",
        "type": "object",
        "required": ["name", "shape", "datatype", "data"],
        "properties": {
            "name": {"const": manifest.input.tensor},
            "datatype": {"const": DATATYPES[manifest.input.dtype]},
            "shape": _shape(shape),
            "data": {"type": "array", "minItems": 1, "maxItems": MOST_IMAGES * prod(shape)},
        },
    }


def _shape(image: list[int]) -> dict[str, Any]:
    """The number of images first, then what one has."""
    return {
        "type": "array",
        "prefixItems": [
            {"type": "integer", "minimum": 1, "maximum": MOST_IMAGES},
            *({"const": length} for length in image),
        ],
        "minItems": 1 + len(image),
        "maxItems": 1 + len(image),
    }
