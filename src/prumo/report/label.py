"""How a scenario is called: its name and the levels that set it apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.quantity import MISSING
from prumo.study import level_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.study import Level

    Row = Mapping[str, Any]

SEPARATOR = " · "


def levels_label(row: Row, factors: Sequence[str]) -> str:
    """The levels of a scenario in the order of the factors.

    >>> levels_label({"framework": "pytorch", "batch_size": 64}, ["framework", "batch_size"])
    'pytorch · 64'
    """
    return SEPARATOR.join(_text(row[factor]) for factor in factors)


def scenario_label(row: Row, factors: Sequence[str]) -> str:
    """A scenario's name with its levels, such as `C3 (pytorch · 64)`."""
    levels = levels_label(row, factors)
    return f"{row['scenario']} ({levels})" if levels else str(row["scenario"])


def row_label(row: Row, factors: Sequence[str]) -> str:
    """A scenario's name with its levels beside a row of a figure, such as `C3: pytorch · 64`."""
    levels = levels_label(row, factors)
    return f"{row['scenario']}: {levels}" if levels else str(row["scenario"])


def _text(level: Level | None) -> str:
    return MISSING if level is None else level_text(level)
