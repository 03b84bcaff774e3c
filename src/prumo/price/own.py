"""The user's own prices, imported or fetched: one table for each provider in the cache."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from prumo.cache import cache_error, cache_folder, made_folder, reserved
from prumo.errors import InputError
from prumo.files import write_whole
from prumo.price.table import read_table, table_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prumo.price.price import Price

PRICES = "prices"


def own_folder() -> Path:
    """Where the user's own prices are."""
    return cache_folder() / PRICES


def own_prices() -> list[Price]:
    """What the user has brought so far."""
    return [price for file in sorted(own_folder().glob("*.csv")) for price in _read(file)]


def keep(prices: Iterable[Price]) -> list[Path]:
    """Add prices to the user's own; of one name and date the new one stays."""
    by_provider: dict[str, list[Price]] = {}
    for price in prices:
        by_provider.setdefault(price.provider, []).append(price)
    folder = made_folder(PRICES)
    files = []
    with reserved(PRICES, title="the list of your own prices", before_waiting=lambda: None):
        for provider, fresh in by_provider.items():
            file = folder / f"{provider}.csv"
            kept = {(price.name, price.as_of): price for price in _read(file)}
            kept |= {(price.name, price.as_of): price for price in fresh}
            try:
                write_whole(file, table_text(kept.values()))
            except OSError as error:
                raise cache_error(error) from error
            files.append(file)
    return files


def _read(file: Path) -> list[Price]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return list(read_table(lines, str(file)))
    except FileNotFoundError:
        return []
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file}: is no table of prices: {error}; mend or delete it") from error
