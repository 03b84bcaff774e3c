"""Answers of a server held against its own OpenAPI document."""

from __future__ import annotations

from typing import Any

import pytest

jsonschema = pytest.importorskip("jsonschema")


def problems(document: dict[str, Any], name: str, answer: object) -> list[str]:
    """Where an answer is not as the schema of this name says."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    errors = jsonschema.Draft202012Validator(schema).iter_errors(answer)
    return [error.message for error in errors]


def check_schemas(document: dict[str, Any]) -> None:
    """Raise where a schema of the document is none."""
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
