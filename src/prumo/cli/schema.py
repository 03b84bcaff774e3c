"""`prumo schema`: print the JSON Schema of study files."""

from __future__ import annotations

import click

from prumo.cli.console import print_json
from prumo.study import Study


@click.command("schema", epilog="Example:  prumo schema > study.schema.json")
def command() -> None:
    """Print the JSON Schema of study files, so that editors can check and complete them."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Study.model_json_schema(),
    }
    print_json(schema)
