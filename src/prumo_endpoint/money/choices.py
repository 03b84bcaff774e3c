"""The choices that a study of requests leaves: what was measured, at the prices kept with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from prumo.message import Message
from prumo.money.billing import rate_of
from prumo.money.catalog import load_catalog, provisioned_names
from prumo.money.price import Kind, Purchase, Unit
from prumo.money.study_prices import machine_label, rates_of, read_prices
from prumo.report.label import levels_label
from prumo_endpoint.keep_warm.ping import interval_words
from prumo_endpoint.keep_warm.policy import refresh_seconds
from prumo_endpoint.keep_warm.tournament import Prices
from prumo_endpoint.load.request_table import NOT_COUNTED
from prumo_endpoint.money.data import data_price, data_price_name, per_byte
from prumo_endpoint.money.offers import Answers, Instances, Offer, Serverless
from prumo_endpoint.report.requests import requests_of
from prumo_endpoint.serverless import MAX_CONCURRENCY
from prumo_endpoint.workload import RequestsParameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prumo.money.billing import Rate
    from prumo.money.cost import Costing
    from prumo.results.tables import Results

LONGEST_PING_SECONDS = 300.0
AT_REST = ("warm-up", "real-time", "cold-start")
DEPLOYMENT = frozenset(
    {"target", "address", "model", "network", "precision", "image", "runtime", "stack"}
    | {"batch_wait_ms", "memory_mb", "cpus", "cpus_per_gb", "container_network", "instance_type"}
    | {"region", "max_concurrency", "keep_warm"}
)
"""The parameters that say what answers; the others say how it is asked."""
LOAD = frozenset(RequestsParameters.model_fields) - DEPLOYMENT
WORK = frozenset({"network", "model"})


@dataclass(frozen=True)
class Choice:
    """One way to answer: an endpoint, and what keeps it warm."""

    label: str
    """The endpoint: the levels that tell it apart from others."""
    name: Message | str
    kind: Kind
    offer: Offer
    answers: Answers | None = None
    """None where it was not measured."""
    is_at_rest: bool = True
    """Whether its times are of requests that did not wait for others."""
    is_least_rate: bool = False
    """Whether nobody tried how much more than one request at a time it holds."""
    is_elsewhere: bool = False
    """Whether its times are of another machine than the one that is priced."""


@dataclass(frozen=True)
class Work:
    """What is asked of an endpoint, and the choices for it."""

    name: str
    """Empty where all endpoints do the same work."""
    choices: tuple[Choice, ...]
    left_out: tuple[str, ...] = ()
    """Endpoints whose runs have several prices, so that none is theirs."""

    @property
    def without_provisioned(self) -> tuple[str, ...]:
        """Serverless endpoints whose provisioned concurrency has no known price."""
        return tuple(
            dict.fromkeys(
                choice.label
                for choice in self.choices
                if isinstance(choice.offer, Serverless)
                and choice.offer.prices.reserved_per_second is None
            )
        )

    @property
    def without_data_price(self) -> tuple[str, ...]:
        """Serverless endpoints whose data in and out has no known price."""
        return tuple(
            dict.fromkeys(
                choice.label
                for choice in self.choices
                if isinstance(choice.offer, Serverless) and not choice.offer.per_byte
            )
        )


def works(
    costing: Costing, idle_timeout_seconds: float, given: Sequence[str] = ()
) -> tuple[Work, ...]:
    """The choices for each kind of work; none without finished runs and prices."""
    results = costing.results
    requests = requests_of(results) if results is not None else pl.DataFrame()
    if results is None or not requests.height:
        return ()
    requests = requests.filter(pl.col("verdict") == "finished")
    runs = costing.runs.filter(pl.col("scenario").is_in(requests["scenario"].unique().to_list()))
    runs = runs.filter(pl.col("verdict") == "finished")
    told = [name for name in results.factors if name not in LOAD and runs[name].n_unique() > 1]
    work = [name for name in told if name in WORK or name in given]
    others = [name for name in told if name not in work]
    finder = _Finder(costing, results, requests, idle_timeout_seconds)
    found = []
    for part in runs.partition_by(work, maintain_order=True) if work else [runs]:
        choices: list[Choice] = []
        left_out: list[str] = []
        for same in part.partition_by(others, maintain_order=True) if others else [part]:
            label = levels_label(same.row(0, named=True), others)
            if finder.has_several_prices(same):
                left_out.append(label)
            choices += finder.choices(same, label)
        if choices:
            choices += finder.not_measured()
            name = levels_label(part.row(0, named=True), work)
            found.append(Work(name, tuple(choices), tuple(left_out)))
    return tuple(found)


class _Finder:
    """Turns the runs of an endpoint into choices."""

    def __init__(
        self, costing: Costing, results: Results, requests: pl.DataFrame, idle_timeout: float
    ) -> None:
        self._costing = costing
        self._idle_timeout = idle_timeout
        self._experiments = {
            record.scenario: str(record.parameters.get("experiment")) for record in results.records
        }
        experiment = pl.col("scenario").replace_strict(
            self._experiments, return_dtype=pl.String, default=""
        )
        self._requests = requests.with_columns(experiment=experiment).filter(
            (pl.col("outcome") == "answered") & ~pl.col("phase").is_in(NOT_COUNTED)
        )
        kept = read_prices(results.path)
        self._parameters = {record.scenario: record.parameters for record in results.records}
        self._machines = {
            scenario: machine_label(each) for scenario, each in self._parameters.items()
        }
        self._stated = {scenario: rate.price for scenario, rate in rates_of(results).items()}
        self._unused = {
            label: rate
            for label, rate in (kept.rates if kept is not None else {}).items()
            if label and label not in self._machines.values()
        }

    def has_several_prices(self, runs: pl.DataFrame) -> bool:
        """Whether it cannot be said what an endpoint costs."""
        return len(self._prices(runs)) > 1

    def _prices(self, runs: pl.DataFrame) -> set[Rate | None]:
        return {self._costing.rates.get(scenario) for scenario in runs["scenario"]}

    def choices(self, runs: pl.DataFrame, label: str) -> Iterator[Choice]:
        """One endpoint, on its own and with all that keeps it warm."""
        rates = self._prices(runs)
        rate = rates.pop() if len(rates) == 1 else None
        per_second = self._per_second(rate)
        if rate is None or per_second is None:
            return
        answers, is_at_rest = self._answers(runs["scenario"].to_list())
        if answers is None:
            return
        scenario = runs["scenario"][0]
        name = label or self._machines[scenario] or _sku(rate)
        is_elsewhere = self._is_elsewhere(scenario, rate)
        if rate.kind is Kind.SERVERLESS:
            prices = self._with_provisioned(rate, Prices(per_second))
            data = self._data_per_byte(rate) or 0.0
            at_once = self._parameters[scenario].get("max_concurrency") or MAX_CONCURRENCY
            offer = Serverless(
                answers, prices, self._idle_timeout, per_byte=data, max_concurrency=int(at_once)
            )
            first = Choice(
                name, name, rate.kind, offer, answers, is_at_rest, is_elsewhere=is_elsewhere
            )
            yield first
            yield from _kept_warm(first, offer)
        else:
            held, is_least = self._rates(runs, answers)
            instances = Instances(3600 * per_second, held)
            yield Choice(
                name, name, rate.kind, instances, answers, is_at_rest, is_least, is_elsewhere
            )

    def _is_elsewhere(self, scenario: str, rate: Rate) -> bool:
        """Whether a price is not of the machine that answered.

        What a SageMaker endpoint is follows from its parameters; what another machine is, the
        prices kept with the results state.
        """
        parameters = self._parameters[scenario]
        if parameters.get("target") == "sagemaker":
            gigabytes = int(parameters.get("memory_mb") or 0) // 1024
            return _sku(rate) != (parameters.get("instance_type") or f"serverless-{gigabytes}gb")
        is_local = "target" in parameters and rate.price.startswith("sagemaker/")
        return is_local or self._stated.get(scenario) != rate.price

    def not_measured(self) -> Iterator[Choice]:
        """Instances and machines that the study prices and no run was made on."""
        for label, rate in self._unused.items():
            per_second = self._per_second(rate)
            if per_second is not None and rate.kind is not Kind.SERVERLESS:
                yield Choice(label, label, rate.kind, Instances(3600 * per_second))

    def _per_second(self, rate: Rate | None) -> float | None:
        """In the currency of the answer; None where it is not paid by time, or in another one."""
        is_by_time = rate is not None and rate.unit in {Unit.SECOND, Unit.HOUR}
        return self._converted(rate) if rate is not None and is_by_time else None

    def _converted(self, rate: Rate) -> float | None:
        """Of one unit (a second, where it is paid by time); None in a currency of its own."""
        exchange, currency = self._costing.exchange, self._costing.currency
        amount = rate.cost(1.0, exact=True)
        if rate.currency == currency:
            return amount
        return exchange.of(amount) if exchange and exchange.base == rate.currency else None

    def _data_per_byte(self, rate: Rate) -> float | None:
        """By the price kept with the results, and otherwise by the catalog of today."""
        name = data_price_name(rate.price)
        kept = next((other for other in self._unused.values() if other.price == name), None)
        if kept is None and (price := data_price(load_catalog(), rate.price)) is not None:
            kept = rate_of(price, Purchase.ON_DEMAND)
        per_gigabyte = self._converted(kept) if kept and kept.unit is Unit.GIGABYTE else None
        return None if per_gigabyte is None else per_byte(per_gigabyte)

    def _with_provisioned(self, rate: Rate, prices: Prices) -> Prices:
        """By the prices kept with the results, and otherwise by the catalog of today."""
        kept = {other.price: other for other in self._unused.values()}
        names = provisioned_names(rate.price)
        if not any(name in kept for name in names):
            found = filter(None, load_catalog().provisioned(rate.price))
            kept = {price.name: rate_of(price, Purchase.ON_DEMAND) for price in found}
        ready, work = (self._per_second(kept.get(name)) for name in names)
        return replace(prices, reserved_per_second=ready, reserved_work_per_second=work)

    def _answers(self, scenarios: Sequence[str]) -> tuple[Answers | None, bool]:
        """What took how long, at rest where that was measured."""
        all_of_them = self._requests.filter(pl.col("scenario").is_in(scenarios))
        at_rest = all_of_them.filter(pl.col("experiment").is_in(AT_REST))
        is_cold = pl.col("is_cold").fill_null(value=False)
        # A start that nobody proved to be cold is neither.
        is_warm = ~is_cold & (
            pl.col("is_cold").is_not_null() | (pl.col("experiment") != "cold-start")
        )
        is_at_rest = bool(at_rest.filter(is_warm).height)
        warm = (at_rest if is_at_rest else all_of_them).filter(is_warm)
        cold = (at_rest if at_rest.filter(is_cold).height else all_of_them).filter(is_cold)
        if not warm.height:
            return None, is_at_rest
        answers = Answers(
            _latencies(warm),
            _latencies(cold),
            _billed(warm),
            _billed(cold),
            warm["run"].to_list(),
            cold["run"].to_list(),
            _mean_bytes(warm, cold),
        )
        return answers, is_at_rest

    def _rates(self, runs: pl.DataFrame, answers: Answers) -> tuple[tuple[float, ...], bool]:
        """The rate that every run held, and whether that is only the least of what it can."""
        if "highest_rate" in runs.columns and len(rates := runs["highest_rate"].drop_nulls()):
            return tuple(rates.to_list()), False
        loops = runs.filter(
            pl.col("scenario").replace_strict(self._experiments, return_dtype=pl.String, default="")
            == "closed-loop"
        )
        if loops.height and "answers_per_second" in runs.columns:
            return tuple(loops["answers_per_second"].drop_nulls().to_list()), False
        return (1 / float(np.mean(answers.warm_billed_seconds)),), True


def _kept_warm(first: Choice, offer: Serverless) -> Iterator[Choice]:
    if first.answers is None or not len(first.answers.cold_seconds):
        return
    every = min(LONGEST_PING_SECONDS, refresh_seconds(offer.idle_timeout_seconds))
    name = Message(
        "{endpoint}, ping every {time}", {"endpoint": first.label, "time": interval_words(every)}
    )
    yield replace(first, name=name, offer=replace(offer, ping_seconds=every))
    if offer.prices.reserved_per_second is not None:
        name = Message("{endpoint}, one instance provisioned", {"endpoint": first.label})
        yield replace(first, name=name, offer=replace(offer, reserved_instances=1))


def _latencies(table: pl.DataFrame) -> np.ndarray:
    return table["latency_seconds"].to_numpy()


def _billed(table: pl.DataFrame) -> np.ndarray:
    return (table["end_seconds"] - table["start_seconds"]).to_numpy()


def _mean_bytes(warm: pl.DataFrame, cold: pl.DataFrame) -> float:
    """In and out, with the heads of the answers, which are counted as they are received."""
    both = pl.concat([warm, cold])
    return float((both["sent_bytes"] + both["received_bytes"]).to_numpy().mean())


def _sku(rate: Rate) -> str:
    return rate.price.partition("/")[2].partition("@")[0]
