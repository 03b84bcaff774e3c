"""Measured cold and warm times as distributions from which a simulation draws.

They come from the requests of a results folder (`measured`), from CSV files, or from two numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from prumo.cli.options import duration
from prumo.errors import InputError
from prumo_endpoint.trace_table import read_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.float64]

LATENCY_COLUMNS = ("latency_seconds", "seconds", "full_latency_seconds", "fullLatency")
# A call draws one of so many quantiles, in two bytes.
QUANTILES = 1 << 16


@dataclass(frozen=True)
class AnswerTimes:
    """How long answers took that were measured cold, and warm.

    A call draws one quantile and has its cold and its warm time at it: a call that is large is
    slow in both. Every measured value is drawn equally often, and none between them.
    """

    cold_seconds: Sequence[float]
    warm_seconds: Sequence[float]

    def __post_init__(self) -> None:
        for kind, values in (("cold", self.cold_seconds), ("warm", self.warm_seconds)):
            if not len(values):
                raise InputError(f"there is no {kind} time; measure at least one")
            if not all(0 < value < float("inf") for value in values):
                raise InputError(f"a {kind} time is not above zero; give seconds, such as 0.35")

    @cached_property
    def cold(self) -> Table:
        """The cold time at each quantile."""
        return _quantiles(self.cold_seconds)

    @cached_property
    def warm(self) -> Table:
        """The warm time at each quantile."""
        return _quantiles(self.warm_seconds)


def _quantiles(values: Sequence[float]) -> Table:
    ranked = np.sort(np.asarray(values, dtype=np.float64))
    return ranked[np.arange(QUANTILES) * len(ranked) // QUANTILES]


def measured_seconds(text: str) -> list[float]:
    """The times that an option gives: 12.5 (seconds), 1.2s or 37ms, or a CSV file of seconds.

    >>> measured_seconds("37ms"), measured_seconds("1.2")
    ([0.037], [1.2])
    """
    for read in (float, duration):
        with suppress(ValueError, click.BadParameter):
            return [read(text)]
    path = Path(text)
    if not path.is_file():
        raise InputError(
            f"'{text}' is neither a time, such as 12.5 (seconds), 1.2s or 37ms, nor a CSV file"
        )
    return [float(seconds) for seconds in read_seconds(path, LATENCY_COLUMNS)]
