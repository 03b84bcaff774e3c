"""Whether times are long enough for the clock that took them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from prumo.analyse.metric import Kind, metric_of
from prumo.message import Message, listed
from prumo.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prumo.analyse.evidence import Evidence

# Ours: a step of this share of a time hides differences that a study is made to see.
STEP_PERCENT = 1.0
# Values of a finer clock all end in a zero by chance once in ten to the power of their number.
FEWEST_VALUES = 4
# 1000 s, the coarsest step that is looked for, down to 1 microsecond.
STEPS_SECONDS = tuple(10.0**power for power in range(3, -7, -1))
# Decimal fractions are not exact in binary; this is far above their error, far below any step.
ROUNDING = 1e-6


def coarse_clock(evidence: Evidence) -> Message | None:
    """Times of which the clock's step is a part that counts."""
    found = [*_timed_in_steps(evidence), *_near_the_clock(evidence)]
    if not found:
        return None
    return Message(
        "The clock is coarse for what it timed: {findings}.", {"findings": listed(found)}
    )


def step_of(values: Sequence[float]) -> float | None:
    """The largest power of ten in seconds that all values are multiples of; None without one.

    >>> step_of([1.5, 2.0, 1.7, 1.6])
    0.1
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if len(known) < FEWEST_VALUES or not known.any():
        return None
    for step in STEPS_SECONDS:
        multiples = known / step
        # Values far below a step are near zero times it, and no multiple of it all the same.
        allowed = ROUNDING * np.minimum(np.abs(multiples), 1)
        if np.all(np.abs(multiples - np.round(multiples)) <= allowed):
            return step
    return None


def _timed_in_steps(evidence: Evidence) -> Iterator[Message]:
    for name in _times(evidence):
        values = evidence.finished.group_by("scenario").agg(pl.col(name).mean())[name].drop_nulls()
        shortest = values.filter(values > 0).min()
        step = step_of(evidence.finished[name].drop_nulls().to_list())
        if step is None or not isinstance(shortest, float):
            continue
        percent = 100 * step / shortest
        if percent > STEP_PERCENT:
            yield Message(
                "{metric} comes in steps of {step}, up to {percent:.2g} % of a mean",
                {"metric": name, "step": Quantity(step, "s"), "percent": percent},
            )


def _near_the_clock(evidence: Evidence) -> Iterator[Message]:
    steps = evidence.finished_conditions.select("run", step="clock_step_seconds").drop_nulls()
    for name in _times(evidence):
        times = evidence.finished.select("run", time=name).join(steps, on="run")
        worst = times.filter(pl.col("time") > 0).select((pl.col("step") / pl.col("time")).max())
        share = worst.item()
        if share is not None and 100 * share > STEP_PERCENT:
            yield Message(
                "a {metric} is only {times:.2g} steps of the machine's clock",
                {"metric": name, "times": 1 / share},
            )


def _times(evidence: Evidence) -> list[str]:
    """The columns that say how fast runs were, in seconds; what a user calls so may be a factor."""
    known = [metric_of(name) for name in evidence.runs.columns]
    # Waiting for data takes no time where they are in memory; that is no matter of the clock.
    return [
        metric.name
        for metric in known
        if metric.unit == "s"
        and (metric.kind is Kind.SPEED or metric.name == evidence.metric)
        and metric.name != "data_seconds"
    ]
