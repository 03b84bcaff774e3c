"""A command workload filled in for one run: words, variables and working directory."""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING

from prumo.study.scenario import level_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.study.scenario import Run
    from prumo.study.workload import Command

RUN_PLACEHOLDERS = ("run", "scenario", "replication")


@dataclass(frozen=True)
class Invocation:
    """What is started for one run; the directory is relative to the study file."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str


def invocation_for(command: Command, run: Run) -> Invocation:
    """Fill the placeholders of a command for a run."""
    values = {name: level_text(level) for name, level in run.scenario.parameters.items()}
    values |= {
        "run": run.name,
        "scenario": run.scenario.name,
        "replication": str(run.replication),
    }
    variables = {f"PRUMO_{name.upper()}": value for name, value in values.items()}
    return Invocation(
        words=tuple(word.format_map(values) for word in command.command),
        environment=variables
        | {name: text.format_map(values) for name, text in command.environment.items()},
        directory=command.directory.format_map(values),
    )


def placeholders(template: str) -> Iterator[str]:
    """The names between braces in a template; ValueError for anything but a plain name."""
    for _, name, specification, conversion in Formatter().parse(template):
        if name is None:
            continue
        if specification or conversion or not name.isidentifier():
            raise ValueError(f"'{{{name}}}' is not a plain name; write {{{{ and }}}} for braces")
        yield name
