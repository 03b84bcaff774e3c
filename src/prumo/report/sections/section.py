"""What every section of a report has: its data, and a form for each reader beside each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from rich.console import Console

    from prumo.message import Message
    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results


@dataclass(frozen=True)
class PageSection:
    """A section on the page: a heading that can be folded, a template and its values.

    Every template is given the section's figures too.
    """

    name: str
    """Where links go to."""
    title: str
    template: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TextTable:
    """Cells as texts under their heads, for documents."""

    name: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int
    """How many of the first columns hold words; the others hold numbers."""


@dataclass(frozen=True)
class Section:
    """One part of a report; a form that it does not have is empty.

    A section is a dataclass of what it shows. `of` finds that in the results; a test or another
    program can give it any tables of its own.
    """

    name: ClassVar[str]
    report: Report

    @classmethod
    def of(cls, _results: Results, report: Report, /) -> Self:
        """The section of these results; one that needs more than the report finds it here."""
        return cls(report)

    def answer(self) -> list[Message]:
        """What it answers at the top of the report, where that is a question of the study."""
        return []

    def figures(self, _language: Language, /) -> list[Figure]:
        """Its drawings, for the page and as files."""
        return []

    def page(self, _figures: Sequence[Figure], _language: Language, /) -> PageSection | None:
        """Its place on the page, with its own figures; None where there is nothing to say."""
        return None

    def print(self, _console: Console, _language: Language, /) -> None:
        """Its part of the terminal."""
        return

    def document(self, _language: Language, /) -> dict[str, Any]:
        """Its keys of the JSON document."""
        return {}

    def tables(self, _language: Language, /) -> list[TextTable]:
        """Its tables in documents."""
        return []

    def frames(self) -> dict[str, pl.DataFrame]:
        """Its tables for programs, by the names of their files."""
        return {}


class FigureSection(Section):
    """A section of figures only; its name and title are those of the first."""

    def page(self, figures: Sequence[Figure], _language: Language, /) -> PageSection | None:
        """The figures one below the other."""
        if not figures:
            return None
        first = figures[0]
        return PageSection(first.name.split("-")[0], first.title, "figure")
