"""What the server takes and gives, described for programs: an OpenAPI 3.1 document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.version import __version__
from prumo_serve.server.openapi.invocations import invocations_path
from prumo_serve.server.openapi.open_inference import OPEN_INFERENCE_SCHEMAS, open_inference_paths
from prumo_serve.server.openapi.prediction import prediction_schemas
from prumo_serve.server.openapi.response import ERROR_SCHEMAS, answered, refused

if TYPE_CHECKING:
    from prumo_serve.manifest import Manifest
    from prumo_serve.server.settings import Limits

_TEXT = {"text/plain": {"schema": {"type": "string"}}}
_HTML = {"text/html": {"schema": {"type": "string"}}}


def openapi_document(manifest: Manifest, limits: Limits) -> dict[str, Any]:
    """The description of a server of this model with these limits."""
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
            "/ping": {
                "get": {
                    "operationId": "ping",
                    "summary": "Whether a request would be answered now.",
                    "responses": {"200": answered("Ready"), **refused(503)},
                }
            },
            "/invocations": {"post": invocations_path(limits)},
            **open_inference_paths(manifest),
            "/metrics": {
                "get": {
                    "operationId": "metrics",
                    "summary": "Counts and times for Prometheus.",
                    "responses": {"200": {"description": "As they are now.", "content": _TEXT}},
                }
            },
            "/openapi.json": {
                "get": {
                    "operationId": "openapi",
                    "summary": "This document.",
                    "responses": {"200": answered("Document"), **refused(503)},
                }
            },
        },
        "components": {
            "schemas": {
                **ERROR_SCHEMAS,
                **prediction_schemas(manifest),
                **OPEN_INFERENCE_SCHEMAS,
                "Document": {"type": "object", "required": ["openapi", "info", "paths"]},
            }
        },
    }


def _page() -> dict[str, Any]:
    return {
        "operationId": "page",
        "summary": "A page for people.",
        "parameters": [
            {
                "name": "lang",
                "in": "query",
                "description": "Of the page; otherwise the browser's, or English.",
                "schema": {"type": "string"},
            }
        ],
        "responses": {
            "200": {"description": "The page.", "content": _HTML},
            "503": {"description": "The model is being loaded.", "content": _HTML},
        },
    }
