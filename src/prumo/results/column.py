"""The names of the columns of result tables, and which of them a factor or metric cannot take."""

from __future__ import annotations

import polars as pl

IDENTITY_COLUMNS = ("run", "scenario", "replication")
OUTCOME_COLUMNS = ("verdict", "reason", "wall_seconds", "order")
STATISTICS: dict[str, pl.DataType] = {
    "n": pl.Int64(),
    "mean": pl.Float64(),
    "standard_deviation": pl.Float64(),
    "ci_low": pl.Float64(),
    "ci_high": pl.Float64(),
    "median": pl.Float64(),
    "minimum": pl.Float64(),
    "maximum": pl.Float64(),
    "bootstrap_low": pl.Float64(),
    "bootstrap_high": pl.Float64(),
}
RESERVED = frozenset({*IDENTITY_COLUMNS, *OUTCOME_COLUMNS, "metric", "unit", *STATISTICS})


def free_name(name: str, kind: str, taken: set[str]) -> str:
    """A column name that means one column and is not taken: a factor may be called `order`.

    >>> free_name("order", "factor", {"run", "order"})
    'factor_order'
    """
    while name in taken or not _means_one_column(name):
        name = f"{kind}_{name}"
    taken.add(name)
    return name


def _means_one_column(name: str) -> bool:
    # Polars reads `*` and `^…$` as patterns wherever a name can stand, and fills an empty name in.
    return name not in {"", "*"} and not (name.startswith("^") and name.endswith("$"))
