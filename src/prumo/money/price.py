"""Prices as a CSV table: how catalogs are shipped, kept and exchanged."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from prumo.errors import InputError, did_you_mean
from prumo.money.terms import COLUMNS, REQUIRED, Kind, Purchase, Unit
from prumo.study.section import PROVIDER, REGION, SKU

__all__ = ["Kind", "Price", "Purchase", "Unit", "read_table", "table_text"]


class Price(BaseModel, frozen=True):
    """What one SKU costs in one region, dated and with its source."""

    provider: Annotated[str, Field(pattern=f"^{PROVIDER}$")]
    sku: Annotated[str, Field(pattern=f"^{SKU}$")]
    region: Annotated[str, Field(pattern=f"^{REGION}$")]
    kind: Kind = Kind.MACHINE
    vcpus: float | None = None
    memory_gib: float | None = None
    accelerator: str = ""
    accelerator_count: float = 0
    """Not a whole number where a part of an accelerator is sold."""
    on_demand: float | None = None
    """The amount per unit; None where it is not sold so."""
    spot: float | None = None
    unit: Unit = Unit.HOUR
    currency: str = "USD"
    as_of: date | None = None
    """None where the source says no date; the linter reports it."""
    source: str = ""

    @property
    def name(self) -> str:
        """As studies write it: `azure/Standard_F4s_v2@eastus`."""
        return f"{self.provider}/{self.sku}@{self.region}"

    def amount(self, purchase: Purchase) -> float | None:
        """The amount per unit, bought so."""
        return self.spot if purchase is Purchase.SPOT else self.on_demand


def read_table(
    lines: Iterable[str], place: str, defaults: Mapping[str, object] | None = None
) -> Iterator[Price]:
    """The prices of a table; `defaults` stand in for empty cells and missing columns."""
    rows = csv.DictReader(lines)
    defaults = {column: value for column, value in (defaults or {}).items() if value}
    columns = rows.fieldnames or ()
    for column in columns:
        if column not in COLUMNS:
            hint = did_you_mean(column, COLUMNS)
            raise InputError(f"{place}: column '{column}' is not known; {hint}")
    for column in REQUIRED:
        if column not in {*columns, *defaults}:
            raise InputError(f"{place}: has no column '{column}'")
    for row in rows:
        if any(row.pop(None, ())):
            raise InputError(
                f"{place}:{rows.line_num}: the row has more cells than there are columns; "
                "amounts are written with a point, 0.5"
            )
        given = {column: cell.strip() for column, cell in row.items() if cell and cell.strip()}
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


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    column = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"{column} is empty"
    if first["type"] == "string_pattern_mismatch":
        return f"{column} '{first['input']}' has characters that a price's name cannot have"
    return f"{column} '{first['input']}': {first['msg']}"
