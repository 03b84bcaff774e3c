"""How a prediction is described: by the labels and the task of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo_serve.server.openapi.response import schema
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from prumo_serve.manifest import Manifest

_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_MAYBE_SHARE = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_SECONDS = {"type": "number", "minimum": 0}
_LATENCIES = {"requestLatency": _SECONDS, "predictionLatency": _SECONDS}
_TEXT = {"type": "string"}
_PHASES = ("decode", "preprocess", "queue", "predict")


def prediction_schemas(manifest: Manifest) -> dict[str, Any]:
    """Everything that POST /invocations and GET /ping answer with."""
    properties = _prediction_properties(manifest)
    optional = {"heat_map", "heat_map_reason", "name"}
    return {
        **_task_schema(manifest).get("$defs", {}),
        "Ready": _object({"status": {"const": "ready"}, "model": schema("Model")}),
        "Model": _object(
            {"name": {"const": manifest.name}, "version": {"const": manifest.version}}
        ),
        "Prediction": _object(
            {**properties, **_LATENCIES, "timings": _timings("total")}, optional=optional
        ),
        "Predictions": _object(
            {
                "predictions": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [schema("ListedPrediction"), schema("ListedError")]},
                },
                **_LATENCIES,
            }
        ),
        "ListedPrediction": _object({**properties, "timings": _timings()}, optional=optional),
        "ListedError": _object(
            {"name": _TEXT, "error": {"$ref": "#/components/schemas/Error/properties/error"}},
            optional={"name"},
        ),
    }


def _prediction_properties(manifest: Manifest) -> dict[str, Any]:
    labels = list(manifest.labels)
    found: dict[str, Any] = {
        "label": {"enum": [*labels, None]},
        "label_text": {"type": ["string", "null"], "description": "In the wanted language."},
        "probability": {**_MAYBE_SHARE, "description": "Of the label."},
        "probabilities": {
            "description": "Empty where a photograph cannot be judged.",
            "type": "object",
            "properties": dict.fromkeys(labels, _SHARE),
            "additionalProperties": False,
        },
        "name": {"type": "string", "description": "As the sender calls the image."},
        "model": schema("Model"),
        "batch_size": {"type": "integer", "minimum": 0},
        "heat_map": {
            "description": "A data URL of a PNG, where it was asked for and can be made.",
            "type": ["string", "null"],
            "pattern": "^data:image/png;base64,",
        },
        "heat_map_reason": {
            "description": "Why heat_map is null, in the wanted language.",
            "type": "string",
        },
    }
    properties: dict[str, Any] = _task_schema(manifest)["properties"]
    return properties | found


def _task_schema(manifest: Manifest) -> dict[str, Any]:
    """What the model's task adds to a prediction, and the schemas that this refers to."""
    model = task_named(manifest.task).answer_model
    return model.model_json_schema(ref_template="#/components/schemas/{model}")


def _timings(*more: str) -> dict[str, Any]:
    return _object({f"{phase}_seconds": _SECONDS for phase in (*_PHASES, *more)})


def _object(
    properties: dict[str, Any], optional: frozenset[str] | set[str] = frozenset()
) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }
