"""What warnings are found in: the runs, and under which conditions they ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prumo.message import Message
    from prumo.results.record import Spread


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
    spreads: Mapping[str, Mapping[str, Spread]] = field(default_factory=dict)
    """Scenario → metric → what was published of its spread, where a run is a summary."""
    unproven: Sequence[Message] = ()
    """Networks that several frameworks trained and no check found equal, with the frameworks."""

    @property
    def finished(self) -> pl.DataFrame:
        """The runs whose figures hold."""
        return self.runs.filter(pl.col("verdict") == "finished")

    @property
    def finished_conditions(self) -> pl.DataFrame:
        """The conditions of the runs whose figures hold."""
        return self.conditions.join(self.finished.select("run"), on="run", how="semi")

    def is_summary(self, scenario: str) -> bool:
        """Whether a scenario's run is a published mean that was given with its spread."""
        spread = self.spreads.get(scenario, {}).get(self.metric or "")
        return spread is not None and spread.gives_interval

    def values_by_scenario(self) -> Iterator[tuple[str, list[float]]]:
        """The main metric's values in each scenario."""
        if self.metric is None:
            return
        known = self.finished.drop_nulls(self.metric)
        groups = known.group_by("scenario", maintain_order=True).agg(self.metric)
        yield from groups.iter_rows()
