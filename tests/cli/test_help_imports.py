"""Asking for help waits for nothing that is slow to import."""

from __future__ import annotations

import json
import subprocess
import sys

# One process for all commands: each is blamed for what it is the first to import.
_WALK = """
import json, sys

import click

from prumo.cli import group

SLOW = {"PIL", "altair", "cv2", "jinja2", "numpy", "polars", "pydantic", "rich", "scipy"}


def contexts(context):
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            yield from contexts(click.Context(command, context, name))


imported, slow = set(), {}
for context in contexts(click.Context(group, info_name="prumo")):
    context.get_help()
    slow[context.command_path] = sorted((SLOW & sys.modules.keys()) - imported)
    imported.update(slow[context.command_path])
print(json.dumps(slow))
"""


def test_no_help_imports_what_is_slow_to_import() -> None:
    answer = subprocess.check_output([sys.executable, "-c", _WALK], text=True)
    slow: dict[str, list[str]] = json.loads(answer)

    assert {command: modules for command, modules in slow.items() if modules} == {}
    # The commands of packages on Prumo are among them.
    assert {"prumo", "prumo report", "prumo import csv", "prumo model package"} <= slow.keys()
