"""Measured cold and warm times as distributions from which a simulation draws.

They come from the requests of a results folder, from two CSV files, or from two numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import InputError, did_you_mean
from prumo.results.folder import ResultsFolder
from prumo.results.record import Verdict
from prumo_endpoint.load.request_table import NOT_COUNTED, REQUESTS_FILE, read_requests
from prumo_endpoint.trace_table import read_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prumo_endpoint.load.request_table import Row

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
    """Those of the answered and counted requests of one scenario's finished runs."""
    files = _request_files(ResultsFolder.existing(folder))
    if not files:
        raise InputError(
            f"{folder}: no finished run has a {REQUESTS_FILE}; give a study of requests"
        )
    scenarios = sorted(files, key=lambda name: int(name[1:]))
    if scenario and scenario not in scenarios:
        raise InputError(
            f"{folder}: has no scenario '{scenario}'; {did_you_mean(scenario, scenarios)}"
        )
    if not scenario and len(scenarios) > 1:
        raise InputError(f"{folder}: has scenarios {', '.join(scenarios)}; name one of them")
    found: dict[bool, list[float]] = {True: [], False: []}
    for file in files[scenario or scenarios[0]]:
        for row in _requests(file):
            if row.is_answered and row.phase not in NOT_COUNTED and row.is_cold is not None:
                found[row.is_cold].append(row.latency_seconds)
    for kind, seconds in (("cold", found[True]), ("warm", found[False])):
        if not seconds:
            raise InputError(
                f"{folder}: no request was answered {kind}; measure a scenario that is, or give "
                f"--{kind}"
            )
    return AnswerTimes(found[True], found[False])


def _request_files(results: ResultsFolder) -> dict[str, list[Path]]:
    """The tables of all finished runs, by scenario: `C2` for the run C02-r3."""
    files: dict[str, list[Path]] = {}
    for run, record in results.runs().records.items():
        file = results.run_path(run) / REQUESTS_FILE
        if record.verdict is Verdict.FINISHED and file.is_file():
            files.setdefault(f"C{int(run[1:].partition('-')[0])}", []).append(file)
    return files


def _requests(file: Path) -> list[Row]:
    try:
        return read_requests(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file}: is no table of requests: {error}") from error
