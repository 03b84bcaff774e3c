"""One HTML page that opens anywhere: styles and figures inside, no script, no network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from prumo.message import Message
from prumo.report.figures import figures_of
from prumo.report.file import write_file
from prumo.report.section import sections_of
from prumo.report.sentence import sentences
from prumo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results

# A reader sees the headings of a shorter page without a list of them.
FEWEST_FOR_CONTENTS = 4


@dataclass(frozen=True)
class Rendered:
    """A section as HTML."""

    name: str
    title: str
    html: Markup


def write_page(results: Results, report: Report, path: Path, language: Language) -> Path:
    """Write the report of these results as one HTML file; its path."""
    return write_file(path, page(results, report, language))


def page(
    results: Results, report: Report, language: Language, drawn: Sequence[Figure] | None = None
) -> str:
    """The report as the text of an HTML page, with the figures that are drawn already if any."""
    environment = _environment(report, language)
    if drawn is None:
        drawn = figures_of(results, report, language)
    figures = {figure.name: figure for figure in drawn}
    rendered = []
    for section in sections_of(results, report, figures, language):
        template = environment.get_template(f"sections/{section.template}.html")
        html = Markup(template.render(section.values))  # noqa: S704 (rendered with escaping)
        rendered.append(Rendered(section.name, section.title, html))
    lead, *rest = sentences(report)
    return environment.get_template("report.html").render(
        lang=language.tag,
        description=results.study.description if results.study is not None else "",
        lead=lead,
        sentences=rest,
        sections=rendered,
        fewest_for_contents=FEWEST_FOR_CONTENTS,
        folder=results.path.resolve().name,
        version=__version__,
    )


def _environment(report: Report, language: Language) -> Environment:
    environment = Environment(
        loader=PackageLoader("prumo.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    environment.globals.update(
        report=report,
        say=lambda text, **values: language.say(Message(text, values) if values else text),
        told=language.told,
        confidence=language.percent(report.confidence),
    )
    return environment


def _code(text: str) -> Markup:
    """Escaped text in which what stands between backticks is code."""
    parts = text.split("`")
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )
