"""What `prumo advise` asks a workload about traffic, and what it is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.report.advice import print_sentences, wrapped
from prumo.statistics.interval import DEFAULT_CONFIDENCE

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.message import Message
    from prumo.report.language import Language

DEFAULT_IDLE_TIMEOUT = 600.0
MOST_LINES, FEWEST_SENTENCES = 5, 3
MOST_WORK_COLUMNS = 24
"""Longer names of works are folded in the table."""


@dataclass(frozen=True)
class TrafficNeed:
    """What is asked about answers to requests."""

    requests_per_day: float | None = None
    """None where the answer may choose a traffic, which it then says."""
    goals: Mapping[float, float] = field(default_factory=dict)
    """Share of the requests → the longest time that they may take, in seconds."""
    idle_timeout_seconds: float = DEFAULT_IDLE_TIMEOUT
    """After how long a serverless platform stops an idle instance."""
    given: tuple[str, ...] = ()
    """Factors that are no choice."""
    confidence: float = DEFAULT_CONFIDENCE


@dataclass(frozen=True)
class TrafficAnswer:
    """What to choose for one kind of work."""

    work: str
    """Empty where the study asks about one work only."""
    sentences: tuple[Message, ...]
    document: Mapping[str, Any]
    """Everything that was found, ready for JSON."""
    cells: tuple[object, ...] = ()
    """Its row in the table of all works, below `TrafficAdvice.heads`."""


@dataclass(frozen=True)
class TrafficAdvice:
    """What to choose at a traffic."""

    answers: tuple[TrafficAnswer, ...]
    document: Mapping[str, Any]
    """What holds for all answers."""
    summary: tuple[Message, ...] = ()
    """All answers in at most five sentences; empty where there is only one."""
    heads: tuple[Message, ...] = ()
    """Of the columns of the table of all works."""


def print_traffic(advice: TrafficAdvice, console: Console, language: Language) -> None:
    """The answer in a few sentences; where there are several works, with a row for each below."""
    if not advice.summary:
        for answer in advice.answers:
            kept = _fitting(answer.sentences, console.width, language)
            print_sentences(answer.work, kept, console, language)
        return
    print_sentences("", _fitting(advice.summary, console.width, language), console, language)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    longest = max(len(answer.work) for answer in advice.answers)
    for place, head in enumerate(advice.heads):
        width = None if place else min(longest, MOST_WORK_COLUMNS)
        table.add_column(language.say(head), overflow="fold", min_width=width)
    for answer in advice.answers:
        table.add_row(*(Text(language.told(cell)) for cell in (answer.work, *answer.cells)))
    console.print(table)


def _fitting(sentences: Sequence[Message], width: int, language: Language) -> list[Message]:
    """As many as five lines have room for: the first two and the last stay; `--json` has all."""
    kept = list(sentences)
    while (
        len(kept) > FEWEST_SENTENCES
        and sum(len(wrapped(language.say(one), width)) for one in kept) > MOST_LINES
    ):
        del kept[-2]
    return kept
