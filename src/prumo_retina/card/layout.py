"""The parts of a card, as HTML and as Markdown, and estimates formatted for them."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined

from prumo.quantity import MISSING
from prumo.report.figures.figure import Figure
from prumo.report.formats.documents import MARKDOWN_MARKS
from prumo.version import __version__

if TYPE_CHECKING:
    from prumo.report.language import Language
    from prumo_serve.estimates import Estimate


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
class Picture:
    """A PNG, such as a photograph with its heat map."""

    file_name: str
    title: str
    png: bytes


Block = Paragraph | Points | Table | Facts | Figure | Picture


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


def html(card: Card) -> str:
    """The text of `card.html`."""
    environment = Environment(
        # The look is that of Prumo's other pages.
        loader=PrefixLoader(
            {"card": PackageLoader("prumo_retina.card"), "report": PackageLoader("prumo.report")}
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["a"] = lambda block, kind: type(block).__name__ == kind
    environment.filters["base64"] = lambda content: b64encode(content).decode()
    return environment.get_template("card/card.html").render(card=card, version=__version__)


def markdown(card: Card) -> str:
    """The text of `card.md`."""
    blocks = [f"# {_plain(card.title)}", f"*{_plain(card.kind)}*", f"**{_plain(card.lead)}**"]
    for section in card.sections:
        blocks += [f"## {_plain(section.title)}", *map(_markdown, section.blocks)]
    return "\n\n".join([*blocks, f"---\n{_plain(card.footer)}"]) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Paragraph(text, is_warning):
            return f"> **{_plain(text)}**" if is_warning else _plain(text)
        case Points(items):
            return "\n".join(f"- {_plain(item)}" for item in items)
        case Facts(pairs):
            return "\n".join(f"- {_plain(name)}: {_plain(value)}" for name, value in pairs)
        case Table(heads, rows, words):
            rules = ["---" if place < words else "---:" for place in range(len(heads))]
            first, *others = ([_plain(cell) for cell in row] for row in (heads, *rows))
            return "\n".join(f"| {' | '.join(row)} |" for row in (first, rules, *others))
        case Figure(name, title, caption):
            return f"![{_plain(title)}]({name}.svg)\n\n{_plain(caption)}"
        case Picture(file_name, title):
            return f"![{_plain(title)}]({file_name})\n\n{_plain(title)}"


def _plain(text: str) -> str:
    """Text in which nothing is a mark."""
    return text.translate(MARKDOWN_MARKS)


_DECIMALS = ".3f"


def formatted_value(estimate: Estimate | None, language: Language) -> str:
    """Three decimals, or a dash where there is no value."""
    if estimate is None or isnan(estimate.value):
        return MISSING
    return language.formatted(estimate.value, _DECIMALS)


def formatted_interval(estimate: Estimate | None, language: Language) -> str:
    """Both ends in brackets, or a dash where it is not known."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return MISSING
    low, high = (language.formatted(end, _DECIMALS) for end in (estimate.low, estimate.high))
    return f"[{low}{language.marks.between}{high}]"


def formatted_estimate(estimate: Estimate | None, language: Language) -> str:
    """The value and its interval."""
    value, interval = formatted_value(estimate, language), formatted_interval(estimate, language)
    return value if interval == MISSING else f"{value} {interval}"
