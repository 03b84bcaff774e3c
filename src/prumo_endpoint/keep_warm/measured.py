"""The endpoint of a results folder: its cold and warm times, and the price kept with its runs.

A study measures cold starts and warm answers of one endpoint in scenarios of their own; as in
`prumo advise`, scenarios that differ only in how they ask are of the same endpoint.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from prumo.errors import InputError, did_you_mean
from prumo.money.study_prices import rates_of, read_prices
from prumo.report.label import levels_label
from prumo.results.record import Verdict
from prumo.results.tables import Results
from prumo_endpoint.load.request_table import NOT_COUNTED, REQUESTS_FILE
from prumo_endpoint.money.choices import AT_REST, LOAD
from prumo_endpoint.report.requests import requests_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.money.billing import Rate

_MB_PER_GB = 1024
_SIZE = re.compile(r"/serverless-(\d+)gb@")
_ENDPOINTS_SHOWN = 6


@dataclass(frozen=True)
class MeasuredEndpoint:
    """One endpoint of a results folder.

    >>> MeasuredEndpoint.of(Path("results/memory"), "C2").seconds("cold")  # doctest: +SKIP
    """

    results: Results
    scenarios: tuple[str, ...]
    """All that asked it."""
    asked: str = ""
    """The scenario that the user named."""

    @classmethod
    def of(cls, folder: Path, scenario: str = "") -> MeasuredEndpoint:
        """That of a scenario, or the only one."""
        results = Results(folder)
        groups = _endpoints(results)
        if not groups:
            raise InputError(
                f"{folder}: no finished run has a {REQUESTS_FILE}; give a study of requests"
            )
        known = [name for names in groups.values() for name in names]
        if scenario and scenario not in known:
            known.sort(key=lambda name: int(name[1:]))
            raise InputError(
                f"{folder}: has no scenario '{scenario}'; {did_you_mean(scenario, known)}"
            )
        if not scenario and len(groups) > 1:
            shown = [f"{label} ({', '.join(names)})" for label, names in groups.items()]
            left = len(shown) - _ENDPOINTS_SHOWN
            raise InputError(
                f"{folder}: has {len(groups)} endpoints: {'; '.join(shown[:_ENDPOINTS_SHOWN])}"
                f"{f'; and {left} more' if left > 0 else ''}. Choose one by any of its scenarios, "
                f"as --scenario {known[0]}"
            )
        found = next(names for names in groups.values() if not scenario or scenario in names)
        return cls(results, tuple(found), scenario)

    def seconds(self, kind: str) -> list[float]:
        """How long its cold or warm answers took."""
        found = self._answers.filter("is_cold" if kind == "cold" else "is_warm")
        if not found.height:
            raise InputError(
                f"{self.results.path}: no request to {self._names} was answered {kind}; measure a "
                f"scenario that is, or give --{kind} too"
            )
        return found["latency_seconds"].to_list()

    def sources(self, kind: str) -> str:
        """The scenarios that those times are of."""
        found = self._answers.filter("is_cold" if kind == "cold" else "is_warm")
        return ", ".join(found["scenario"].unique(maintain_order=True))

    @property
    def rate(self) -> Rate | None:
        """The price kept with its runs; None without one."""
        if len(self.rates) > 1:
            prices = " and ".join(sorted(rate.price for rate in self.rates))
            raise InputError(f"{self.results.path}: {self._names} cost {prices}; give --price")
        return next(iter(self.rates), None)

    @cached_property
    def rates(self) -> set[Rate]:
        """The prices kept with its runs."""
        kept = rates_of(self.results)
        return {kept[name] for name in self.scenarios if name in kept}

    @property
    def kept_rates(self) -> dict[str, Rate]:
        """All prices kept with the results, by their names."""
        prices = read_prices(self.results.path)
        return {rate.price: rate for rate in prices.rates.values()} if prices else {}

    @property
    def memory_gb(self) -> int | None:
        """By its price or by the study; None where neither says it in whole GB."""
        if self.rate is not None:
            found = _SIZE.search(self.rate.price)
            return int(found[1]) if found else None
        sizes = {
            record.parameters.get("memory_mb")
            for record in self.results.records
            if record.scenario in self.scenarios
        }
        size = sizes.pop() if len(sizes) == 1 else None
        return size // _MB_PER_GB if isinstance(size, int) and size % _MB_PER_GB == 0 else None

    @property
    def _names(self) -> str:
        return ", ".join(self.scenarios)

    @cached_property
    def _answers(self) -> pl.DataFrame:
        """What was answered and counts, at rest where that was measured, with `is_warm`.

        A scenario under load counts alone where it is named and has both kinds of answers.
        """
        experiments = {
            record.scenario: str(record.parameters.get("experiment"))
            for record in self.results.records
        }
        experiment = pl.col("scenario").replace_strict(experiments, return_dtype=pl.String)
        is_at_rest = experiment.is_in(AT_REST)
        # A start that nobody proved is neither, except where the study waits for a warm answer.
        is_warm = ~pl.col("is_cold") | (
            pl.col("is_cold").is_null() & is_at_rest & (experiment != "cold-start")
        )
        table = _requests(self.results).filter(
            (pl.col("outcome") == "answered")
            & ~pl.col("phase").is_in(NOT_COUNTED)
            & (pl.col("verdict") == "finished")
            & pl.col("scenario").is_in(self.scenarios)
        )
        table = table.with_columns(
            is_cold=pl.col("is_cold").fill_null(value=False),
            is_warm=is_warm.fill_null(value=False),
            is_at_rest=is_at_rest,
        )
        own = table.filter((pl.col("scenario") == self.asked) & ~pl.col("is_at_rest"))
        if own["is_cold"].any() and own["is_warm"].any():
            return own
        parts = []
        for kind in ("is_cold", "is_warm"):
            every = table.filter(kind)
            at_rest = every.filter("is_at_rest")
            parts.append(at_rest if at_rest.height else every)
        return pl.concat(parts)


def _endpoints(results: Results) -> dict[str, Sequence[str]]:
    """Label of an endpoint → its scenarios with requests of finished runs."""
    requests = _requests(results)
    if not requests.height:
        return {}
    finished = requests.filter(pl.col("verdict") == Verdict.FINISHED.value)
    runs = results.runs().filter(pl.col("run").is_in(finished["run"].unique().to_list()))
    told = [name for name in results.factors if name not in LOAD and runs[name].n_unique() > 1]
    groups: dict[str, dict[str, None]] = {}
    for row in runs.iter_rows(named=True):
        groups.setdefault(levels_label(row, told), {})[row["scenario"]] = None
    return {label: list(names) for label, names in groups.items()}


def _requests(results: Results) -> pl.DataFrame:
    try:
        requests = requests_of(results)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{results.path}: a {REQUESTS_FILE} cannot be read: {error}") from error
    # A column without any value has no type of its own.
    return requests.cast({"is_cold": pl.Boolean}) if requests.height else requests
