"""How answers and errors are described."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

ERROR_SCHEMAS: dict[str, Any] = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "additionalProperties": False,
        "properties": {
            "error": {
                "type": "object",
                "required": ["kind", "message"],
                "additionalProperties": False,
                "properties": {
                    "kind": {"type": "string", "description": "For programs."},
                    "message": {"type": "string", "description": "For people."},
                },
            }
        },
    },
    "OpenInferenceError": {
        "type": "object",
        "required": ["error"],
        "additionalProperties": False,
        "properties": {"error": {"type": "string"}},
    },
}
_REASONS = {
    400: "The body is not what its content type says, or an image cannot be read.",
    404: "There is no model of this name.",
    408: "The headers or the body took too long to arrive.",
    411: "The request has no body.",
    413: "The body, an image or the number of images is too large.",
    415: "The content type is none of those that are taken.",
    422: "The form is right, but a shape or a value is not.",
    429: "Too many images wait already; try again later.",
    431: "The headers are too large.",
    503: "The server is not ready, or the time was over before the request's turn.",
    504: "The answer took longer than it may.",
}
QUESTION_ERRORS = (400, 408, 411, 413, 415, 422, 429, 431, 503, 504)
"""What can become of a request with a body."""
# Also told by what stands before the routes, the connection or NGINX, in a form for all paths.
_EDGE_ERRORS = {400, 408, 413, 431, 503, 504}


def schema(name: str) -> dict[str, str]:
    """A reference to one of the document's schemas."""
    return {"$ref": f"#/components/schemas/{name}"}


def answered(name: str, description: str = "") -> dict[str, Any]:
    """An answer of status 200 with a schema."""
    return {
        "description": description or HTTPStatus.OK.phrase,
        "content": {"application/json": {"schema": schema(name)}},
    }


def refused(*statuses: int, error: str = "Error") -> dict[str, Any]:
    """Errors of these statuses, by status."""
    return {
        str(status): {
            "description": _REASONS[status],
            "content": {"application/json": {"schema": _error_schema(status, error)}},
        }
        for status in statuses
    }


def _error_schema(status: int, error: str) -> dict[str, Any]:
    if error == "Error" or status not in _EDGE_ERRORS:
        return schema(error)
    return {"anyOf": [schema(error), schema("Error")]}
