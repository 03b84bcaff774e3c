"""The JSON Schema of study files, with the parameters of every installed workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.study.model import Study
from prumo.study.plan import MACHINE_NAMES
from prumo.study.workload import installed_workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.study.section import Section

Schema = dict[str, Any]


def study_schema() -> Schema:
    """The schema; what `factors` and `fixed` may have follows from the kind of the workload."""
    schema = Study.model_json_schema()
    rules = []
    for kind, workload in installed_workloads().items():
        if workload.parameters:
            name = f"{kind}-parameters"
            parameters = _parameters(workload.parameters, f"#/$defs/{name}")
            required = parameters.pop("required", [])
            schema["$defs"][name] = parameters
            rules.append(_rule(kind, name, list(parameters["properties"]), required))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "allOf": rules}


def _parameters(section: type[Section], place: str) -> Schema:
    schema = section.model_json_schema(ref_template=f"{place}/$defs/{{model}}")
    properties = {name: _given(value) for name, value in schema["properties"].items()}
    for name in MACHINE_NAMES:
        properties[name] = {"description": "A label of `machines`.", "type": "string"}
    return {**schema, "properties": properties}


def _given(schema: Schema) -> Schema:
    """A parameter where it is given: one that may be absent is left out, not null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        schema = {key: value for key, value in schema.items() if key != "anyOf"} | choices[0]
    return {key: value for key, value in schema.items() if (key, value) != ("default", None)}


def _rule(kind: str, name: str, parameters: Sequence[str], required: Sequence[str]) -> Schema:
    """What holds for the rest of a study whose workload is of this kind."""
    one = {"$ref": f"#/$defs/{name}"}
    levels = {
        parameter: {"type": "array", "items": {"$ref": f"#/$defs/{name}/properties/{parameter}"}}
        for parameter in parameters
    }
    is_kind = {"properties": {"kind": {"const": kind}}, "required": ["kind"]}
    return {
        "if": {"properties": {"workload": is_kind}, "required": ["workload"]},
        "then": {
            "properties": {
                "factors": {"properties": levels, "additionalProperties": False},
                "fixed": one,
                "scales": {"additionalProperties": one},
            },
            "allOf": [
                {"anyOf": [_has("factors", parameter), _has("fixed", parameter)]}
                for parameter in required
            ],
        },
    }


def _has(section: str, parameter: str) -> Schema:
    return {"properties": {section: {"required": [parameter]}}, "required": [section]}
