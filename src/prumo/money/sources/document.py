"""What every form of price lists has to do with: texts, and what they do not say themselves."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from prumo.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import date

    from prumo.money.price import Price

_JSON_CHARACTERS = 256 * 2**20


@dataclass(frozen=True)
class Document:
    """A text and the name to call it by in errors."""

    name: str
    text: TextIO


@dataclass(frozen=True)
class Origin:
    """What a price list may leave unsaid."""

    provider: str = ""
    as_of: date | None = None


@dataclass(frozen=True)
class Source:
    """One form of price lists."""

    name: str
    title: str
    recognises: Callable[[str], bool]
    """Whether a text that begins so has this form."""
    read: Callable[[Sequence[Document], Origin], Iterable[Price]]
    """The prices in documents that belong together, as the pages of one answer."""


def read_json(document: Document) -> Any:  # noqa: ANN401 (whatever the JSON holds)
    """The content of a JSON text, which must be short enough for memory."""
    text = document.text.read(_JSON_CHARACTERS + 1)
    if len(text) > _JSON_CHARACTERS:
        raise InputError(
            f"{document.name}: is longer than {_JSON_CHARACTERS >> 20} MiB; give the CSV file of "
            "the same list, which is read row by row"
        )
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{document.name}:{error.lineno}: is no whole JSON: {error.msg}"
        ) from error


def amount_of(text: str, document: Document, line: int) -> float | None:
    """The amount in a cell; none where it is empty."""
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{document.name}:{line}: '{text}' is no amount") from error


def spelt(name: str, pattern: str) -> str:
    """A name with dashes for the characters that a study could not write."""
    character = pattern.removesuffix("+")
    return "".join(letter if re.fullmatch(character, letter) else "-" for letter in name)
