"""`prumo schema`: print the JSON Schema of study files."""

from __future__ import annotations

import click

from prumo.cli.console import print_json


@click.command("schema", epilog="Example:  prumo schema > study.schema.json")
def command() -> None:
    """Print the JSON Schema of study files, so that editors can check and complete them."""
    from prumo.study.json_schema import study_schema

    print_json(study_schema())
