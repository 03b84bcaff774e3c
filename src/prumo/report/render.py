"""A report in a language: on a terminal, as one HTML page, as plain values, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from rich.text import Text

from prumo.message import Message
from prumo.report.sections import section_kinds
from prumo.report.sections.outcome import WarningsSection
from prumo.report.sentence import sentences
from prumo.version import __version__

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.report.sections.section import Section, TextTable
    from prumo.results.tables import Results

# A reader sees the headings of a shorter page without a list of them.
FEWEST_FOR_CONTENTS = 4
DOCUMENT_KEYS = (
    *("summary", "failures", "unreadable", "unfinished", "warnings", "equality", "profiles"),
    *("unprofiled", "cost", "unpriced", "variations", "scaling", "convergence", "forecast"),
)
FRAMES = ("runs", "summary", "variation", "scaling", "cost")


@dataclass(frozen=True)
class LocalizedReport:
    """The report of some results in a language; sections are built and figures drawn once.

    >>> results = Results("results/demo")  # doctest: +SKIP
    >>> LocalizedReport(results, assemble(results, [], 0.95), english()).page()  # doctest: +SKIP
    """

    results: Results
    report: Report
    language: Language

    @cached_property
    def sections(self) -> list[Section]:
        """Every section, in reading order."""
        return [section.of(self.results, self.report) for section in section_kinds(self.results)]

    @cached_property
    def told(self) -> list[Message]:
        """How the runs ended, what the sections answer, and what the figures say."""
        lead, *rest = sentences(self.report)
        return [lead, *(one for section in self.sections for one in section.answer()), *rest]

    @property
    def sentences(self) -> list[str]:
        """The result in a few sentences, with what it costs where that is known."""
        said = self.told
        if self.report.cost is not None:
            said = [*said, *self.report.cost.sentences()]
        # What a machine is worth is part of both.
        return list(dict.fromkeys(map(self.language.say, said)))

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """What a reader must know, each with what to do about it."""
        found = (section for section in self.sections if isinstance(section, WarningsSection))
        return next(found).texts(self.language)

    @cached_property
    def figures(self) -> list[Figure]:
        """Every figure of the page, in its order."""
        return [figure for drawn in self._drawn for figure in drawn]

    @cached_property
    def tables(self) -> list[TextTable]:
        """The tables for readers, without those that have no rows."""
        tables = [table for section in self.sections for table in section.tables(self.language)]
        return [table for table in tables if table.rows]

    @cached_property
    def frames(self) -> dict[str, pl.DataFrame]:
        """The tables for programs, by name; an empty one is kept too."""
        found = {name: frame for part in self.sections for name, frame in part.frames().items()}
        return {name: found.pop(name) for name in FRAMES if name in found} | found

    def document(self) -> dict[str, Any]:
        """Everything the report says, ready for JSON."""
        report, counts = self.report, self.report.counts
        found: dict[str, Any] = {}
        for section in self.sections:
            found |= section.document(self.language)
        return {
            "study": report.study_name,
            "confidence": report.confidence,
            "factors": list(report.factors),
            "main_metric": report.main_metric,
            "runs": {
                "planned": counts.planned,
                "finished": report.finished.height,
                "failed": report.failures.height,
                "unreadable": len(found["unreadable"]),
                "unfinished": counts.unfinished,
            },
            "sentences": [self.language.say(sentence) for sentence in self.told],
            **{key: found.pop(key) for key in DOCUMENT_KEYS},
            **found,
        }

    def print(self, console: Console) -> None:
        """Sentences, tables and failures; warnings last, where a reader's eye is."""
        console.print(Text(self.report.study_name, style="bold"))
        for sentence in self.told:
            console.print(Text(self.language.say(sentence)))
        for section in sorted(self.sections, key=lambda one: isinstance(one, WarningsSection)):
            section.print(console, self.language)

    def page(self) -> str:
        """One HTML page that opens anywhere: styles and figures inside, no script, no network."""
        environment = self._environment()
        rendered = []
        for section, figures in zip(self.sections, self._drawn, strict=True):
            if (page := section.page(figures, self.language)) is not None:
                template = environment.get_template(f"sections/{page.template}.html")
                html = template.render(page.values, figures=figures)
                rendered.append((page.name, page.title, html))
        lead, *rest = self.told
        study = self.results.study
        return environment.get_template("report.html").render(
            lang=self.language.tag,
            report=self.report,
            description=study.description if study is not None else "",
            lead=lead,
            sentences=rest,
            sections=rendered,
            fewest_for_contents=FEWEST_FOR_CONTENTS,
            folder=self.results.path.resolve().name,
            version=__version__,
        )

    @cached_property
    def _drawn(self) -> list[list[Figure]]:
        return [section.figures(self.language) for section in self.sections]

    def _environment(self) -> Environment:
        language = self.language
        environment = Environment(
            loader=PackageLoader("prumo.report"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["code"] = _code
        environment.globals.update(
            number=language.number,
            quantity=language.quantity,
            share=language.share,
            say=lambda text, **values: language.say(Message(text, values) if values else text),
            told=language.told,
            confidence=language.percent(self.report.confidence),
        )
        return environment


def _code(text: str) -> Markup:
    """Escaped text in which what stands between backticks is code."""
    parts = text.split("`")
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )
