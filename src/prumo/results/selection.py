"""Some of a study's runs, chosen by a rule over their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from prumo.errors import InputError
from prumo.study import Rule

if TYPE_CHECKING:
    from prumo.results.tables import Results


def runs_where(results: Results, rule: str) -> pl.DataFrame:
    """The runs of scenarios for which a rule such as `batch_size <= 64` holds; all without one."""
    if not rule:
        return results.runs()
    if results.study is None:
        raise InputError(f"{results.path} has no study that says what '{rule}' is about")
    condition = Rule.parse(rule, results.study)
    names = [record.run for record in results.records if condition.holds(record.parameters)]
    if not names:
        raise InputError(f"no run in {results.path} satisfies '{rule}'")
    return results.runs().filter(pl.col("run").is_in(names))
