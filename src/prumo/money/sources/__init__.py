"""The forms that price lists come in: one file for each, told by how a file begins."""

from __future__ import annotations

import csv
from contextlib import ExitStack
from typing import TYPE_CHECKING

from prumo.errors import InputError, did_you_mean
from prumo.money.sources import aws, azure, plain, skypilot
from prumo.money.sources.document import Document, Origin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.money.price import Price
    from prumo.money.sources.document import Source

SOURCES: dict[str, Source] = {
    source.name: source for source in (skypilot.SOURCE, aws.SOURCE, azure.SOURCE, plain.SOURCE)
}
_HEAD_CHARACTERS = 4096


def read_files(files: Sequence[Path], form: str, origin: Origin) -> list[Price]:
    """The prices in files of one form; without one, it is told by how the first begins."""
    place = ", ".join(map(str, files))
    with ExitStack() as stack:
        documents = [
            Document(str(file), stack.enter_context(file.open(encoding="utf-8-sig", newline="")))
            for file in files
        ]
        try:
            source = find_source(form) if form else _recognised(documents[0])
            prices = list(source.read(documents, origin))
        except UnicodeDecodeError as error:
            raise InputError(f"{place}: is no text in UTF-8") from error
        except csv.Error as error:
            raise InputError(f"{place}: is no table: {error}") from error
    if not prices:
        raise InputError(f"{place}: no price was found in it")
    return prices


def find_source(form: str) -> Source:
    """The form of that name."""
    if form not in SOURCES:
        raise InputError(f"no price list has the form '{form}'; {did_you_mean(form, SOURCES)}")
    return SOURCES[form]


def _recognised(document: Document) -> Source:
    head = document.text.read(_HEAD_CHARACTERS)
    document.text.seek(0)
    for source in SOURCES.values():
        if source.recognises(head):
            return source
    forms = "; ".join(f"{source.name}: {source.title}" for source in SOURCES.values())
    raise InputError(f"{document.name}: is no price list that Prumo knows ({forms})")
