"""The names of the columns of result tables, which no factor or metric can take."""

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
}
RESERVED = frozenset({*IDENTITY_COLUMNS, *OUTCOME_COLUMNS, "metric", "unit", *STATISTICS})


def free_name(name: str, kind: str, taken: set[str]) -> str:
    """A column name that is not taken yet: a factor may be called `order`, a metric `epochs`."""
    while name in taken:
        name = f"{kind}_{name}"
    taken.add(name)
    return name
