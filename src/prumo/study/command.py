"""The workload `command`: any program, with the scenario's levels filled into its words."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from prumo.errors import did_you_mean
from prumo.study.plan import parameter_levels
from prumo.study.scenario import RUN_PLACEHOLDERS, level_text
from prumo.study.section import Problem, Section, Text, Truth, refused, shown, written_as
from prumo.study.workload import SystemText, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.study.model import Study
    from prumo.study.scenario import Run
    from prumo.study.section import KeyPath

Keep = Literal["last", "first", "mean", "min", "max", "sum"]


def _split_words(value: Any) -> Any:  # noqa: ANN401 (not yet checked)
    try:
        return shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise refused(f"cannot be split into words: {error}") from None


def _checked_words(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or not words[0].strip():
        raise refused("should name a program")
    return words


def _checked_pattern(pattern: str) -> str:
    try:
        groups = re.compile(pattern).groupindex
    except (re.error, OverflowError, RecursionError) as error:
        raise refused(f"is not a regular expression: {error}") from None
    if not groups:
        raise refused("needs a named group such as (?P<loss>[0-9.]+)")
    return pattern


VariableName = Annotated[
    Text, written_as(r"[A-Za-z_][A-Za-z0-9_]*", "the name of a variable: letters, digits and _")
]


class Metrics(Section):
    """How the metrics of a command are found in what it prints."""

    json_lines: Truth = True
    """Take the numbers of every line of standard output that is a JSON object."""
    patterns: tuple[Annotated[Text, AfterValidator(_checked_pattern)], ...] = ()
    """Regular expressions whose named groups are metrics."""
    keep: dict[Text, Keep] = Field(default_factory=dict)
    """Metric → which of its values counts; the last one where nothing is said."""


class Command(Workload):
    """Run any program; `{factor}` in its words stands for the level."""

    kind: Literal["command"]
    """Says that this workload runs a program."""
    command: Annotated[
        tuple[SystemText, ...],
        BeforeValidator(_split_words),
        AfterValidator(_checked_words),
        WithJsonSchema(
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
        ),
    ]
    """The program and its words; no shell reads them."""
    environment: dict[VariableName, SystemText] = Field(default_factory=dict)
    """Environment variable → value, with placeholders."""
    directory: Annotated[SystemText, Field(min_length=1)] = "."
    """Where the program runs, relative to the study file."""
    metrics: Metrics = Metrics()
    """How the metrics are found in what the program prints."""

    launcher = "prumo.run.workloads.command:CommandLauncher"
    starter = "prumo.study:starters/command.yaml"

    def problems(self, study: Study) -> Iterator[Problem]:
        """Placeholders that are no parameters of the study."""
        known = {*parameter_levels(study), *RUN_PLACEHOLDERS}
        templates: list[tuple[KeyPath, str]] = [
            *((("workload", "command", index), word) for index, word in enumerate(self.command)),
            *((("workload", "environment", name), text) for name, text in self.environment.items()),
            (("workload", "directory"), self.directory),
        ]
        for path, template in templates:
            try:
                unknown = [name for name in _placeholders(template) if name not in known]
            except ValueError as error:
                yield Problem(path, f"{shown(template)}: {error}")
                continue
            for name in unknown:
                hint = did_you_mean(name, known)
                yield Problem(path, f"'{{{name}}}' is not a parameter of the study; {hint}")


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


def _placeholders(template: str) -> Iterator[str]:
    """The names between braces in a template; ValueError for anything but a plain name."""
    for _, name, specification, conversion in Formatter().parse(template):
        if name is None:
            continue
        if specification or conversion or not name.isidentifier():
            raise ValueError(f"'{{{name}}}' is not a plain name; write {{{{ and }}}} for braces")
        yield name
