"""Which scenarios learn soonest, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.analyse.convergence import FEWEST_STEPS
from prumo.analyse.metric import metric_of
from prumo.message import Message, listed
from prumo.quantity import Estimate, Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.analyse.convergence import Convergence


def convergence_sentences(convergence: Convergence) -> list[Message]:
    """Who reaches the common loss first and last by each measure, who never does or is left out."""
    said = [*_ends(convergence)]
    if convergence.never:
        said.append(
            Message("Never down to that loss: {names}.", {"names": listed(convergence.never)})
        )
    if convergence.sometimes:
        said.append(
            Message(
                "Down to that loss in some runs only, and the means are of those: {names}.",
                {"names": listed(convergence.sometimes)},
            )
        )
    if convergence.short:
        said.append(
            Message(
                "Left out, since a run of fewer than {steps} steps tells too little: {names}.",
                {"steps": FEWEST_STEPS, "names": listed(convergence.short)},
            )
        )
    if convergence.silent:
        said.append(
            Message(
                "Left out, since no loss was reported: {names}.",
                {"names": listed(convergence.silent)},
            )
        )
    return said


def _ends(convergence: Convergence) -> Iterator[Message]:
    summary = convergence.summary
    for name in summary["metric"].unique(maintain_order=True):
        rows = summary.filter(pl.col("metric") == name).sort("mean", maintain_order=True)
        least, most = rows.row(0, named=True), rows.row(-1, named=True)
        yield Message(
            "{metric}: from {least} ({first}) to {most} ({last}).",
            {
                "metric": metric_of(name).title,
                "least": _told(least),
                "first": least["scenario"],
                "most": _told(most),
                "last": most["scenario"],
            },
        )


def _told(row: dict[str, Any]) -> Estimate | Quantity:
    if row["ci_low"] is None:
        return Quantity(row["mean"], row["unit"])
    return Estimate(row["mean"], row["ci_low"], row["ci_high"], row["unit"])
