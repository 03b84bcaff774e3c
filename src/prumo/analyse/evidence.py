"""What warnings are found in: the runs, and under which conditions they ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True)
class Evidence:
    """What is known of a study's runs.

    Runs and conditions stay two tables: a user's factor may be called as a condition is.
    """

    runs: pl.DataFrame
    conditions: pl.DataFrame
    """A row per run: machine, versions, data, noise, sampler."""
    metric: str | None
    confidence: float
    unreadable: Sequence[str] = ()
    unfinished: Sequence[str] = ()
    unproven: Sequence[str] = ()
    """Networks that several frameworks trained and no check found equal, with the frameworks."""

    @property
    def finished(self) -> pl.DataFrame:
        """The runs whose figures hold."""
        return self.runs.filter(pl.col("verdict") == "finished")

    @property
    def finished_conditions(self) -> pl.DataFrame:
        """The conditions of the runs whose figures hold."""
        return self.conditions.join(self.finished.select("run"), on="run", how="semi")

    def values_by_scenario(self) -> Iterator[tuple[str, list[float]]]:
        """The main metric's values in each scenario."""
        if self.metric is None:
            return
        for (scenario,), group in self.finished.group_by("scenario", maintain_order=True):
            if values := group[self.metric].drop_nulls().to_list():
                yield str(scenario), values
