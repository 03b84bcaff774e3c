"""A report as a document: LaTeX for a paper, Markdown for a repository or a wiki."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import vl_convert

from prumo.report.file import write_file
from prumo.report.sections.setting import setting

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
LATEX_MARKS = str.maketrans(
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
        write_file(folder / TABLES / f"{name}.tex", _latex_table(table, name))
        for name, table in _named(report.tables).items()
    ]
    figures = [
        write_file(folder / FIGURES / f"{figure.name}.pdf", vl_convert.svg_to_pdf(figure.svg))
        for figure in report.figures
    ]
    document = write_file(folder / "report.tex", "\n".join(_latex_document(report)) + "\n")
    return [document, *tables, *figures]


def _latex_document(report: LocalizedReport) -> Iterator[str]:
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
        yield from _latex_figure(figure)
    yield r"\end{document}"


def _latex_table(table: TextTable, name: str) -> str:
    columns = "l" * table.words + "r" * (len(table.heads) - table.words)
    lines = [
        r"\begin{table}[htbp]",
        r"\centering",
        rf"\caption{{{escaped(table.title)}}}",
        rf"\label{{tab:{name}}}",
        rf"\resizebox{{\ifdim\width>\linewidth\linewidth\else\width\fi}}{{!}}{{\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(table.heads),
        r"\midrule",
        *map(_latex_row, table.rows),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_figure(figure: Figure) -> list[str]:
    return [
        r"\begin{figure}[htbp]",
        r"\centering",
        rf"\includegraphics[width=\linewidth]{{{FIGURES}/{figure.name}.pdf}}",
        rf"\caption{{{escaped(figure.title)}. {escaped(figure.caption)}}}",
        rf"\label{{fig:{figure.name}}}",
        r"\end{figure}",
    ]


def _latex_row(cells: tuple[str, ...]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def escaped(text: str) -> str:
    """Text in which nothing is a command."""
    return text.translate(LATEX_MARKS)


def _named(tables: Sequence[TextTable]) -> dict[str, TextTable]:
    """Tables by names that files and labels may have: a user may call a metric anything."""
    named: dict[str, TextTable] = {}
    for place, table in enumerate(tables, start=1):
        name = NOT_IN_NAMES.sub("-", table.name).strip("-")
        named[f"{name}-{place}" if not name or name in named else name] = table
    return named


# What Markdown or the HTML inside it would take for a mark.
MARKDOWN_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#~$"} | {"\n": " "})


def write_markdown(report: LocalizedReport, folder: Path) -> list[Path]:
    """`report.md`, and its figures in a folder of their own."""
    page = write_file(folder / "report.md", "\n\n".join(_markdown_blocks(report)) + "\n")
    figures = [
        write_file(folder / FIGURES / f"{figure.name}.svg", figure.svg + "\n")
        for figure in report.figures
    ]
    return [page, *figures]


def _markdown_blocks(report: LocalizedReport) -> Iterator[str]:
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
        yield _markdown_table(table)
    facts = setting(report.results.records)
    if facts:
        yield f"## {say('Machine, versions and data')}"
        yield "\n".join(
            f"- {say(title)}: {_plain('; '.join(map(report.language.told, values)))}"
            for title, values in facts
        )


def _markdown_table(table: TextTable) -> str:
    rules = ["---" if place < table.words else "---:" for place in range(len(table.heads))]
    rows = [[_plain(cell) for cell in row] for row in (table.heads, *table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rules, *rows[1:]])


def _plain(text: str) -> str:
    """Text in which nothing is a mark."""
    return text.translate(MARKDOWN_MARKS)


def _with_code(text: str) -> str:
    """Text in which only what stands between backticks is a mark."""
    parts = text.split("`")
    return "`".join(part if place % 2 else _plain(part) for place, part in enumerate(parts))
