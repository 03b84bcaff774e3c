"""How POST /invocations is described: every body that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.report.language import LANGUAGES
from prumo_serve.server.body import MOST_IMAGES
from prumo_serve.server.openapi.response import QUESTION_ERRORS, refused, schema

if TYPE_CHECKING:
    from prumo_serve.server.settings import Limits

_BINARY = {"type": "string", "format": "binary", "minLength": 1}
_FILES = {"type": "array", "items": _BINARY}
BASE64 = {
    "description": "A JPEG or PNG in base64, or as a data URL.",
    "type": "string",
    "minLength": 4,
    "pattern": "^(?:data:image/(?:jpeg|jpg|png);base64,)?"
    "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
}
_PIXEL = {"type": "number", "minimum": 0, "maximum": 255}
_PIXELS = {
    "description": "Height x width x 3 from 0 to 255, with rows of equal lengths.",
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "array",
        "minItems": 1,
        "items": {"type": "array", "minItems": 3, "maxItems": 3, "items": _PIXEL},
    },
}
_ATTRIBUTES = {
    "name": "X-Amzn-SageMaker-Custom-Attributes",
    "description": "Given back in the answer as it is.",
    "schema": {"type": "string", "maxLength": 1024, "pattern": "^([!-~]([ -~]*[!-~])?)?$"},
}


def invocations_path(limits: Limits) -> dict[str, Any]:
    """Bodies, wishes and answers."""
    return {
        "operationId": "invoke",
        "summary": "What the model says of an image, or of several.",
        "parameters": [
            {
                "name": "lang",
                "in": "query",
                "description": "Of the texts for people.",
                "schema": {"enum": list(LANGUAGES), "default": "en"},
            },
            {
                "name": "heat_map",
                "in": "query",
                "description": "Whether to draw where an image speaks for the answer.",
                "schema": {"enum": ["true", "false", "1", "0"], "default": "false"},
            },
            {"in": "header", **_ATTRIBUTES},
        ],
        "requestBody": {
            "required": True,
            "description": f"At most {limits.body_bytes} bytes.",
            "content": _bodies(),
        },
        "responses": {
            "200": {
                "description": "A prediction for one image, a list for a list.",
                "content": {
                    "application/json": {
                        "schema": {"anyOf": [schema("Prediction"), schema("Predictions")]}
                    }
                },
            },
            **refused(*QUESTION_ERRORS),
        },
    }


def _bodies() -> dict[str, Any]:
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
        "application/json": {"schema": {"anyOf": [_encoded("image"), _instances()]}},
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


def _instances() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["instances"],
        "additionalProperties": False,
        "properties": {
            "instances": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_IMAGES,
                "items": {"anyOf": [_encoded("image"), _encoded("b64"), _PIXELS]},
            },
            "signature_name": {"description": "Of TensorFlow Serving's clients; not looked at."},
        },
    }


def _encoded(key: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [key],
        "additionalProperties": False,
        "properties": {key: BASE64, "name": {"type": "string"}},
    }
