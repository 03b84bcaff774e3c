"""A card as Markdown, its figures beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.report.formats.markdown import MARKS
from prumo.retina.card.block import Drawing, Facts, Paragraph, Picture, Points, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.retina.card.block import Block, Card


def markdown(card: Card) -> str:
    """The text of `card.md`."""
    return "\n\n".join(_blocks(card)) + "\n"


def _blocks(card: Card) -> Iterator[str]:
    yield f"# {_plain(card.title)}"
    yield f"*{_plain(card.kind)}*"
    yield f"**{_plain(card.lead)}**"
    for section in card.sections:
        yield f"## {_plain(section.title)}"
        for block in section.blocks:
            yield _told(block)
    yield f"---\n{_plain(card.footer)}"


def _told(block: Block) -> str:
    match block:
        case Paragraph(text, is_warning):
            return f"> **{_plain(text)}**" if is_warning else _plain(text)
        case Points(items):
            return "\n".join(f"- {_plain(item)}" for item in items)
        case Facts(pairs):
            return "\n".join(f"- {_plain(name)}: {_plain(told)}" for name, told in pairs)
        case Table():
            return _table(block)
        case Drawing(figure):
            return f"![{_plain(figure.title)}]({figure.name}.svg)\n\n{_plain(figure.caption)}"
        case Picture(file_name, title):
            return f"![{_plain(title)}]({file_name})\n\n{_plain(title)}"


def _table(table: Table) -> str:
    rules = ["---" if place < table.words else "---:" for place in range(len(table.heads))]
    rows = [[_plain(cell) for cell in row] for row in (table.heads, *table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rules, *rows[1:]])


def _plain(text: str) -> str:
    """Text in which nothing is a mark."""
    return text.translate(MARKS)
