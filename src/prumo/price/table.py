"""Prices as a CSV table: how catalogs are shipped, kept and exchanged."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from pydantic import ValidationError

from prumo.errors import InputError, did_you_mean
from prumo.price.price import Price

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

COLUMNS = tuple(Price.model_fields)
REQUIRED = ("provider", "sku", "region")


def read_table(
    lines: Iterable[str], place: str, defaults: Mapping[str, object] | None = None
) -> Iterator[Price]:
    """The prices of a table; `defaults` stand in for empty cells and missing columns."""
    rows = csv.DictReader(lines)
    defaults = {column: value for column, value in (defaults or {}).items() if value}
    _check_columns(rows.fieldnames or (), place, defaults)
    for row in rows:
        if any(row.pop(None, ())):
            raise InputError(
                f"{place}:{rows.line_num}: the row has more cells than there are columns; "
                "amounts are written with a point, 0.5"
            )
        cells = {column: cell.strip() for column, cell in row.items() if cell}
        given = {column: cell for column, cell in cells.items() if cell}
        try:
            yield Price.model_validate(defaults | given)
        except ValidationError as error:
            raise InputError(f"{place}:{rows.line_num}: {_reason(error)}") from error


def table_text(prices: Iterable[Price]) -> str:
    """The prices as a table that `read_table` reads."""
    text = io.StringIO()
    # Unquoted, a lone carriage return would end its row.
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(price.model_dump(mode="json") for price in prices)
    return text.getvalue()


def _check_columns(columns: Iterable[str], place: str, defaults: Mapping[str, object]) -> None:
    present = set(columns)
    for column in columns:
        if column not in COLUMNS:
            hint = did_you_mean(column, COLUMNS)
            raise InputError(f"{place}: column '{column}' is not known; {hint}")
    for column in REQUIRED:
        if column not in present and column not in defaults:
            raise InputError(f"{place}: has no column '{column}'")


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    column = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"{column} is empty"
    if first["type"] == "string_pattern_mismatch":
        return f"{column} '{first['input']}' has characters that a price's name cannot have"
    return f"{column} '{first['input']}': {first['msg']}"
