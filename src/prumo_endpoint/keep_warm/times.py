"""Measured cold and warm times as distributions from which a simulation draws.

They come from the requests of a results folder, from two CSV files, or from two numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from prumo.errors import InputError, did_you_mean
from prumo.results.folder import ResultsFolder
from prumo_endpoint.traces import read_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.float64]

REQUESTS_FILE = "requests.csv"
COLUMNS = ("outcome", "is_cold", "latency_seconds")
LATENCY_COLUMNS = ("latency_seconds", "seconds", "full_latency_seconds", "fullLatency")
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
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
    """The times that an option gives: a number of seconds, or a CSV file of them."""
    try:
        return [float(text)]
    except ValueError:
        pass
    path = Path(text)
    if not path.is_file():
        raise InputError(f"'{text}' is neither a number of seconds nor a CSV file")
    return [float(seconds) for seconds in read_seconds(path, LATENCY_COLUMNS)]


def results_times(folder: Path, scenario: str = "") -> AnswerTimes:
    """Those of the answered requests of one scenario in a results folder."""
    runs = ResultsFolder.existing(folder).run_paths()
    files = [path / REQUESTS_FILE for path in runs if (path / REQUESTS_FILE).is_file()]
    if not files:
        raise InputError(f"{folder}: no run has a {REQUESTS_FILE}; it is no study of requests")
    scenarios = sorted({_scenario(file) for file in files}, key=lambda name: int(name[1:]))
    if scenario and scenario not in scenarios:
        raise InputError(
            f"{folder}: has no scenario '{scenario}'; {did_you_mean(scenario, scenarios)}"
        )
    if not scenario and len(scenarios) > 1:
        raise InputError(f"{folder}: has scenarios {', '.join(scenarios)}; name one of them")
    requests = pl.concat(_requests(file) for file in files if scenario in {"", _scenario(file)})
    found = {
        kind: requests.filter(pl.col("is_cold") == is_cold)["latency_seconds"].to_list()
        for kind, is_cold in (("cold", True), ("warm", False))
    }
    for kind, seconds in found.items():
        if not seconds:
            raise InputError(
                f"{folder}: no request was answered {kind}; measure a scenario that is, or give "
                f"--{kind}"
            )
    return AnswerTimes(found["cold"], found["warm"])


def _scenario(file: Path) -> str:
    """`C2` for the file of the run C02-r3."""
    return f"C{int(file.parent.name[1:].partition('-')[0])}"


def _requests(file: Path) -> pl.DataFrame:
    try:
        table = pl.read_csv(file, columns=list(COLUMNS), infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{file}: is no table of requests: {reason}") from error
    return (
        table.filter(outcome="answered")
        .select(
            is_cold=pl.col("is_cold").str.to_lowercase().replace_strict(BOOLEANS, default=None),
            latency_seconds=pl.col("latency_seconds").cast(pl.Float64, strict=False),
        )
        .drop_nulls()
    )
