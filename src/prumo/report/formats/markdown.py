"""The report as Markdown, for a repository or a wiki; its figures lie beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.report.file import write_file
from prumo.report.sections.setting import setting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prumo.report.render import LocalizedReport
    from prumo.report.sections.section import TextTable

FIGURES = "figures"
# What Markdown or the HTML inside it would take for a mark.
MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#~$"} | {"\n": " "})


def write_markdown(report: LocalizedReport, folder: Path) -> list[Path]:
    """`report.md`, and its figures in a folder of their own."""
    page = write_file(folder / "report.md", "\n\n".join(_blocks(report)) + "\n")
    figures = [
        write_file(folder / FIGURES / f"{figure.name}.svg", figure.svg + "\n")
        for figure in report.figures
    ]
    return [page, *figures]


def _blocks(report: LocalizedReport) -> Iterator[str]:
    say = report.language.say
    yield f"# {_plain(report.report.study_name)}"
    yield "\n".join(f"- {_plain(sentence)}" for sentence in report.sentences)
    if report.warnings:
        yield f"## {say('Before you rely on this')}"
        yield "\n".join(
            f"- **{_plain(message)}** {_with_code(advice)}" for message, advice in report.warnings
        )
    for figure in report.figures:
        yield f"## {_plain(figure.title)}"
        yield f"![{_plain(figure.title)}]({FIGURES}/{figure.name}.svg)"
        yield _plain(figure.caption)
    for table in report.tables:
        yield f"## {_plain(table.title)}"
        yield _table(table)
    facts = setting(report.results.records)
    if facts:
        yield f"## {say('Machine, versions and data')}"
        yield "\n".join(
            f"- {say(title)}: {_plain('; '.join(map(report.language.told, values)))}"
            for title, values in facts
        )


def _table(table: TextTable) -> str:
    rules = ["---" if place < table.words else "---:" for place in range(len(table.heads))]
    rows = [[_plain(cell) for cell in row] for row in (table.heads, *table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rules, *rows[1:]])


def _plain(text: str) -> str:
    """Text in which nothing is a mark."""
    return text.translate(MARKS)


def _with_code(text: str) -> str:
    """Text in which only what stands between backticks is a mark."""
    parts = text.split("`")
    return "`".join(part if place % 2 else _plain(part) for place, part in enumerate(parts))
