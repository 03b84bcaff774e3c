"""How runs ended: warnings about them, and failures with their reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rich.text import Text

from prumo.message import Message
from prumo.report.find_warnings import Evidence, find_warnings
from prumo.report.sections.section import PageSection, Section, TextTable
from prumo.report.sentence import verdict_words
from prumo.statistics.equality import unproven

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.report.warnings import WarningKind
    from prumo.results.tables import Results, Unreadable


@dataclass(frozen=True)
class WarningsSection(Section):
    """What weakens the results, with advice, and the files that could not be read."""

    name = "warnings"
    warnings: dict[WarningKind, Message]
    unreadable: tuple[Unreadable, ...] = ()
    unfinished: tuple[str, ...] = ()

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """Every warning that these results call for."""
        evidence = Evidence(
            runs=report.runs,
            conditions=results.conditions(),
            metric=report.main_metric,
            confidence=report.confidence,
            unreadable=[item.path.parent.name for item in results.unreadable],
            unfinished=results.unfinished,
            spreads=results.spreads,
            unproven=unproven(results.records, results.equality),
        )
        return cls(report, find_warnings(evidence), results.unreadable, results.unfinished)

    def texts(self, language: Language) -> list[tuple[str, str]]:
        """Every warning with its advice."""
        say = language.say
        return [(say(message), say(kind.advice)) for kind, message in self.warnings.items()]

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """A box for each warning."""
        if not self.warnings:
            return None
        values = {"warnings": self.texts(language), "unreadable": self.unreadable}
        return PageSection(self.name, language.say("Before you rely on this"), "warnings", values)

    def print(self, console: Console, language: Language, /) -> None:
        """Each warning, its advice below it."""
        for message, advice in self.texts(language):
            console.print()
            console.print(Text.assemble((language.say("Warning") + ": ", "yellow"), message))
            console.print(Text(f"  {advice}", style="dim"))
        for item in self.unreadable:
            console.print(Text(f"  {item.reason}"))

    def document(self, language: Language, /) -> dict[str, Any]:
        """The warnings by name, and what could not be read or has not ended."""
        return {
            "unreadable": [
                {"path": str(item.path), "reason": item.reason} for item in self.unreadable
            ],
            "unfinished": list(self.unfinished),
            "warnings": [
                {"name": kind.key, "message": message, "advice": advice}
                for kind, (message, advice) in zip(self.warnings, self.texts(language), strict=True)
            ],
        }


class FailuresSection(Section):
    """Every failed run once, grouped by verdict and reason."""

    name = "failures"

    def groups(self) -> list[tuple[Message, Message | str, list[str]]]:
        """The verdicts in order, each with its reasons and with the runs that ended so."""
        groups = self.report.failures.group_by("verdict", "reason", maintain_order=True).agg("run")
        return [
            (verdict_words(verdict), reason or Message("no reason was recorded"), runs)
            for verdict, reason, runs in groups.sort("verdict", maintain_order=True).rows()
        ]

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """A table of the groups."""
        groups = self.groups()
        if not groups:
            return None
        return PageSection(self.name, language.say("Failures"), "failures", {"failures": groups})

    def print(self, console: Console, language: Language, /) -> None:
        """A line for each group."""
        groups = self.groups()
        if not groups:
            return
        console.print()
        console.print(Text(language.say("Failures"), style="bold"))
        for verdict, reason, runs in groups:
            told = f" ({', '.join(runs)}): {language.told(reason)}"
            console.print(Text.assemble((language.say(verdict), "red"), told))

    def document(self, _language: Language, /) -> dict[str, Any]:
        """A row for each failed run."""
        return {"failures": self.report.failures.rows(named=True)}

    def tables(self, language: Language, /) -> list[TextTable]:
        """A row for each group."""
        rows = tuple(
            (language.say(verdict), ", ".join(runs), language.told(reason))
            for verdict, reason, runs in self.groups()
        )
        heads = (language.say("Verdict"), language.say("Runs"), language.say("Reason"))
        return [TextTable(self.name, language.say("Failures"), heads, rows, words=3)]
