"""The requests of a results folder as one table."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING

import polars as pl

from prumo_endpoint.load.request_table import REQUESTS_FILE, read_requests

if TYPE_CHECKING:
    from prumo.results.tables import Results


@lru_cache(maxsize=2)
def requests_of(results: Results) -> pl.DataFrame:
    """The requests of all runs, with the name, scenario, verdict and levels of their run."""
    parts = []
    levels = {row["run"]: row for row in results.runs().iter_rows(named=True)}
    for record in results.records:
        path = results.path / "runs" / record.run / REQUESTS_FILE
        rows = [asdict(row) for row in read_requests(path)] if path.exists() else []
        if rows:
            constants = {
                "run": record.run,
                "scenario": record.scenario,
                "verdict": str(record.verdict),
                **{name: levels[record.run][name] for name in results.factors},
            }
            frame = pl.DataFrame(rows, infer_schema_length=None)
            parts.append(
                frame.select(
                    *(pl.lit(value).alias(name) for name, value in constants.items()),
                    *(name for name in frame.columns if name not in constants),
                )
            )
    return pl.concat(parts, how="vertical_relaxed") if parts else pl.DataFrame()
