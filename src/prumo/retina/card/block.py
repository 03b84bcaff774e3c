"""What a card is made of, told in a language already: Markdown and HTML only lay it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prumo.report.figures.figure import Figure


@dataclass(frozen=True)
class Paragraph:
    """Some sentences."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True)
class Points:
    """Sentences that stand for themselves."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Words in the first columns, numbers in all others."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    """How many columns have words."""


@dataclass(frozen=True)
class Facts:
    """Names with what they stand for."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Drawing:
    """A figure."""

    figure: Figure


@dataclass(frozen=True)
class Picture:
    """A PNG, such as a photograph with its heat map."""

    file_name: str
    title: str
    png: bytes


Block = Paragraph | Points | Table | Facts | Drawing | Picture


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Card:
    """The whole card."""

    tag: str
    """Of its language, by BCP 47."""
    kind: str
    """What stands above the title."""
    title: str
    lead: str
    sections: tuple[Section, ...]
    footer: str
