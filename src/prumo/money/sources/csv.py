"""Prumo's own table, for prices from anywhere else: one column for each property of a price."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.money.terms import COLUMNS, REQUIRED

if TYPE_CHECKING:
    from prumo.money.price import Price
    from prumo.money.sources.documents import Document, Origin


class CsvTable:
    """A table that anybody can write."""

    title = f"a CSV table with the columns {', '.join(COLUMNS)}"

    def recognises(self, head: str) -> bool:
        """By its column names."""
        columns = {column.strip(' "\r') for column in head.partition("\n")[0].split(",")}
        return set(REQUIRED[1:]) <= columns and bool(columns & {"on_demand", "spot"})

    def read(self, documents: Sequence[Document], origin: Origin) -> Iterator[Price]:
        """The rows; without a source of their own they name their file."""
        from prumo.money.price import read_table

        for document in documents:
            defaults = {
                "provider": origin.provider,
                "as_of": origin.as_of,
                "source": Path(document.name).name,
            }
            yield from read_table(document.text, document.name, defaults)
