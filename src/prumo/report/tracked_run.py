"""A run as experiment trackers keep it: parameters, figures, curves and tags. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.analyse.money.costing import kept_costing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prumo.results.record import RunRecord
    from prumo.results.tables import Results

TAG = "prumo."
# What MLflow allows in names, without the slash, which its file store takes for a folder.
NOT_IN_NAMES = re.compile(r"[^\w\-. :]", re.ASCII)
LONGEST_VALUE = 5000
CURVES = ("loss", "accuracy")


@dataclass(frozen=True)
class Point:
    """A value of a curve; the step counts from 1, as workers count."""

    name: str
    value: float
    step: int


@dataclass(frozen=True)
class TrackedRun:
    """All that is handed over of one run."""

    name: str
    verdict: str
    started_ms: int
    seconds: float
    parameters: dict[str, str]
    metrics: dict[str, float]
    curves: tuple[Point, ...]
    tags: dict[str, str]

    @property
    def digest(self) -> str:
        """A mark that changes when anything of the run does."""
        text = json.dumps(asdict(self), sort_keys=True)
        return sha256(text.encode()).hexdigest()


def tracked_runs(results: Results) -> Iterator[TrackedRun]:
    """Every run that ended, with what it costs where the results have prices."""
    costing = kept_costing(results)
    rows = {row["run"]: row for row in costing.runs.iter_rows(named=True)}
    for record in results.records:
        row = rows[record.run]
        figures = {name: row[name] for name in (*results.metrics, *costing.metrics)}
        yield _tracked(record, figures, _curves(results, record.run))


def _tracked(
    record: RunRecord, figures: Mapping[str, float | None], curves: tuple[Point, ...]
) -> TrackedRun:
    return TrackedRun(
        name=record.run,
        verdict=record.verdict.value,
        started_ms=_milliseconds(record.started),
        seconds=record.wall_seconds or 0.0,
        parameters=_texts({**record.parameters, **record.factors}),
        metrics={_name(name): value for name, value in figures.items() if value is not None},
        curves=curves,
        tags=_texts(_tags(record)),
    )


def _tags(record: RunRecord) -> dict[str, Any]:
    facts = {
        "study": record.study,
        "run": record.run,
        "scenario": record.scenario,
        "replication": record.replication,
        "fingerprint": record.fingerprint,
        "verdict": record.verdict.value,
        "reason": record.reason,
        "device": record.device,
        "threads": record.threads,
        "imported": record.imported,
        "anomalies": ", ".join(record.anomalies),
        **{f"version.{name}": version for name, version in record.versions.items()},
    }
    return {f"{TAG}{name}": value for name, value in facts.items() if value not in ("", None)}


def _curves(results: Results, run: str) -> tuple[Point, ...]:
    """Loss by step, and loss and accuracy by epoch, as far as the run reported them."""
    steps = results.steps(run).filter(pl.col("epoch") > 0).select("loss").collect()
    epochs = results.epochs(run).select("epoch", *CURVES).collect()
    numbers = epochs["epoch"].to_list()
    return (
        *_points("step_loss", range(1, steps.height + 1), steps["loss"]),
        *(point for name in CURVES for point in _points(f"epoch_{name}", numbers, epochs[name])),
    )


def _points(name: str, places: Iterable[int], values: pl.Series) -> list[Point]:
    return [
        Point(name, value, place)
        for place, value in zip(places, values, strict=True)
        if value is not None
    ]


def _milliseconds(started: str) -> int:
    return int(datetime.fromisoformat(started).timestamp() * 1000) if started else 0


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {_name(name): str(value)[:LONGEST_VALUE] for name, value in values.items()}


def _name(name: str) -> str:
    return NOT_IN_NAMES.sub("_", name).strip() or "_"
