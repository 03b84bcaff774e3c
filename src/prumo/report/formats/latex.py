"""Tables and figures for a paper, and a document that shows them all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import vl_convert

from prumo.report.file import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prumo.report.figures.figure import Figure
    from prumo.report.render import LocalizedReport
    from prumo.report.sections.section import TextTable

TABLES, FIGURES = "tables", "figures"
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
# What LaTeX's babel calls the languages.
BABEL = {"en": "english", "pt-BR": "brazilian"}
MARKS = str.maketrans(
    {mark: f"\\{mark}" for mark in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "[": "{[}",
        "]": "{]}",
        "\N{NO-BREAK SPACE}": "~",
        "\N{EN DASH}": "--",
        "\N{MULTIPLICATION SIGN}": r"$\times$",
        "\N{MIDDLE DOT}": r"$\cdot$",
        "\N{PLUS-MINUS SIGN}": r"$\pm$",
        "\N{MICRO SIGN}": r"\textmu{}",
        "\N{RIGHTWARDS ARROW}": r"$\rightarrow$",
        "\n": " ",
    }
)


def write_latex(report: LocalizedReport, folder: Path) -> list[Path]:
    """`report.tex`, its tables and figures in folders of their own, ready to be included."""
    tables = [
        write_file(folder / TABLES / f"{name}.tex", _table(table, name))
        for name, table in _named(report.tables).items()
    ]
    figures = [
        write_file(folder / FIGURES / f"{figure.name}.pdf", vl_convert.svg_to_pdf(figure.svg))
        for figure in report.figures
    ]
    document = write_file(folder / "report.tex", "\n".join(_document(report)) + "\n")
    return [document, *tables, *figures]


def _document(report: LocalizedReport) -> Iterator[str]:
    yield r"\documentclass{article}"
    yield r"\usepackage[T1]{fontenc}"
    yield rf"\usepackage[{BABEL[report.language.tag]}]{{babel}}"
    yield r"\usepackage{booktabs,graphicx}"
    yield r"\begin{document}"
    yield rf"\section*{{{escaped(report.report.study_name)}}}"
    yield from map(escaped, report.sentences)
    for message, advice in report.warnings:
        yield rf"\paragraph{{{escaped(message)}}} {escaped(advice)}"
    for name in _named(report.tables):
        yield rf"\input{{{TABLES}/{name}}}"
    for figure in report.figures:
        yield from _figure(figure)
    yield r"\end{document}"


def _table(table: TextTable, name: str) -> str:
    columns = "l" * table.words + "r" * (len(table.heads) - table.words)
    lines = [
        r"\begin{table}[htbp]",
        r"\centering",
        rf"\caption{{{escaped(table.title)}}}",
        rf"\label{{tab:{name}}}",
        rf"\resizebox{{\ifdim\width>\linewidth\linewidth\else\width\fi}}{{!}}{{\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _row(table.heads),
        r"\midrule",
        *map(_row, table.rows),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _figure(figure: Figure) -> list[str]:
    return [
        r"\begin{figure}[htbp]",
        r"\centering",
        rf"\includegraphics[width=\linewidth]{{{FIGURES}/{figure.name}.pdf}}",
        rf"\caption{{{escaped(figure.title)}. {escaped(figure.caption)}}}",
        rf"\label{{fig:{figure.name}}}",
        r"\end{figure}",
    ]


def _row(cells: tuple[str, ...]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def escaped(text: str) -> str:
    """Text in which nothing is a command."""
    return text.translate(MARKS)


def _named(tables: Sequence[TextTable]) -> dict[str, TextTable]:
    """Tables by names that files and labels may have: a user may call a metric anything."""
    named: dict[str, TextTable] = {}
    for place, table in enumerate(tables, start=1):
        name = NOT_IN_NAMES.sub("-", table.name).strip("-")
        named[f"{name}-{place}" if not name or name in named else name] = table
    return named
