"""What one run does: train a network, run any program, or nothing here as it was imported."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from prumo.study.scenario import level_text
from prumo.study.section import Section, Text, Truth, refused, written_as

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.study.scenario import Run


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


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise refused("should not contain a NUL character")
    return text


SystemText = Annotated[Text, AfterValidator(_without_nul)]
VariableName = Annotated[
    Text, written_as(r"[A-Za-z_][A-Za-z0-9_]*", "the name of a variable: letters, digits and _")
]


class Training(Section):
    """Train one of Prumo's networks."""

    kind: Literal["training"]
    """Says that this workload trains a network."""
    data: dict[Text, Annotated[SystemText, Field(min_length=1)]] = Field(default_factory=dict)
    """Data set → its folder or .npz file, relative to the study file."""


class Retina(Section):
    """Train a model on fundus photographs, as `prumo retina train` does."""

    kind: Literal["retina"]
    """Says that this workload trains on fundus photographs."""
    data: Annotated[SystemText, Field(min_length=1)] | None = None
    """Folder of `prumo retina convert`, relative to the study file; else images are generated."""


class Metrics(Section):
    """How the metrics of a command are found in what it prints."""

    json_lines: Truth = True
    """Take the numbers of every line of standard output that is a JSON object."""
    patterns: tuple[Annotated[Text, AfterValidator(_checked_pattern)], ...] = ()
    """Regular expressions whose named groups are metrics."""
    keep: dict[Text, Keep] = Field(default_factory=dict)
    """Metric → which of its values counts; the last one where nothing is said."""


class Command(Section):
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


class Imported(Section):
    """Figures that others measured: the runs are there, and none can be started."""

    kind: Literal["imported"]
    """Says that the runs of this study came from files of somebody else's."""
    source: Text = ""
    """Where the figures were published."""


Workload = Annotated[Training | Retina | Command | Imported, Field(discriminator="kind")]


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
