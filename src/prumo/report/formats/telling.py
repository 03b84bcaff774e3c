"""A report told in a language: what every format takes its texts, tables and figures from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from prumo.report.formats.frames import frames_of
from prumo.report.formats.text_table import text_tables
from prumo.report.gallery import figures_of
from prumo.report.sentence import sentences

if TYPE_CHECKING:
    import polars as pl

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.formats.text_table import TextTable
    from prumo.report.language import Language
    from prumo.results.tables import Results


@dataclass(frozen=True)
class Telling:
    """The report of some results in a language; figures are drawn once for all formats."""

    results: Results
    report: Report
    language: Language

    @property
    def sentences(self) -> list[str]:
        """The result in a few sentences, with what it costs where that is known."""
        said = sentences(self.report)
        if self.report.cost is not None:
            said = [*said, *self.report.cost.sentences()]
        # What a machine is worth is part of both.
        return list(dict.fromkeys(map(self.language.say, said)))

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """What a reader must know, each with what to do about it."""
        say = self.language.say
        return [(say(warning.message), say(warning.advice)) for warning in self.report.warnings]

    @cached_property
    def frames(self) -> dict[str, pl.DataFrame]:
        """The tables for programs, by name."""
        return frames_of(self.report)

    @cached_property
    def tables(self) -> list[TextTable]:
        """The tables for readers."""
        return text_tables(self.report, self.language)

    @cached_property
    def figures(self) -> list[Figure]:
        """Every figure of the page, in its order."""
        return figures_of(self.results, self.report, self.language)
