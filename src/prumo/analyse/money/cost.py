"""What every run costs, as figures like any others. Pure."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import polars as pl

from prumo.errors import InputError, did_you_mean
from prumo.message import Message, counted
from prumo.price.billing import rule
from prumo.price.price import Unit
from prumo.study import CostSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.price.exchange import Exchange
    from prumo.price.rate import Rate

DEFAULT_SETTINGS = CostSettings()
# What a run that answers requests may report of itself.
INFERENCES = "inferences"
DATA_BYTES = "data_bytes"
# As AWS reckons: aws.amazon.com/s3/faqs counts 10 TB as 10,995,116,277,760 bytes.
BYTES_PER_GIGABYTE = 2**30
# Ours: from here on an amount tells more of the billing rule than of the run.
NOTABLE_ROUNDING = 0.1
RENTAL = {
    "shared": "A run pays for its own time as a part of a longer rental, without minimum or "
    "rounding.",
    "own": "A machine is rented for each run alone, so its provider's minimum and rounding count.",
}
OTHER_RENTAL = {
    "shared": "A run pays for its own time as a part of a longer rental, without minimum or "
    "rounding. By its provider's rule for a rental of its own, the amount of {runs} would differ "
    "by more than {percent:.0f} %; `rental: own` in the study or `prumo cost --rental own` tells "
    "it.",
    "own": "A machine is rented for each run alone, so its provider's minimum and rounding count, "
    "which changes the amount of {runs} by more than {percent:.0f} %. With `rental: shared` a run "
    "pays for its own time as a part of a longer rental.",
}


def priced(
    runs: pl.DataFrame,
    rates: Mapping[str, Rate],
    settings: CostSettings = DEFAULT_SETTINGS,
    exchange: Exchange | None = None,
) -> pl.DataFrame:
    """The runs with what each costs: `cost_usd`, `cost_per_epoch_usd` and so on.

    `rates` says the rate of each scenario; a run of another has no amounts. What a run states of
    itself under one of these names stays as it is.
    """
    used = _used(runs, rates, settings)
    exact = settings.rental == "shared"
    columns: dict[str, pl.Series] = {}
    for currency in currencies(rates, exchange):
        amounts = [
            None
            if rate is None or amount is None
            else _in_currency(rate, rate.cost(amount, exact=exact), currency, exchange)
            for rate, amount in zip(_rates(runs, rates), used, strict=True)
        ]
        cost = pl.Series(amounts, dtype=pl.Float64)
        columns |= dict(_figures(runs, cost, currency.lower(), settings))
    return runs.with_columns(
        series.alias(name) for name, series in columns.items() if name not in runs.columns
    )


def currencies(rates: Mapping[str, Rate], exchange: Exchange | None = None) -> list[str]:
    """The currencies that amounts are told in: those of the rates, then that of the exchange."""
    found = dict.fromkeys(rate.currency for rate in rates.values())
    if exchange is not None and exchange.base in found:
        found[exchange.currency] = None
    return list(found)


def cost_metric(currency: str, settings: CostSettings = DEFAULT_SETTINGS) -> str:
    """The name of the amount that a study is about: of a run, or of one answer."""
    kind = "cost_per_inference" if settings.of == "inference" else "cost"
    return f"{kind}_{currency.lower()}"


def billed_metric(runs: pl.DataFrame, settings: CostSettings = DEFAULT_SETTINGS) -> str:
    """Which of a run's times is paid for."""
    if settings.setup:
        return "wall_seconds"
    if settings.metric is not None:
        if settings.metric not in runs.columns or not runs.schema[settings.metric].is_numeric():
            hint = did_you_mean(settings.metric, _times(runs))
            raise InputError(f"no run has a time '{settings.metric}' to be billed: {hint}")
        return settings.metric
    return "train_seconds" if "train_seconds" in runs.columns else "wall_seconds"


def images_metric(runs: pl.DataFrame) -> str | None:
    """The images that a run trained on; a study that varies `images` has that under the name."""
    return next((name for name in ("metric_images", "images") if name in runs.columns), None)


def rental_remark(
    runs: pl.DataFrame, rates: Mapping[str, Rate], settings: CostSettings = DEFAULT_SETTINGS
) -> Message:
    """How runs pay for their machine, and where another rental makes other amounts."""
    changed = sum(
        abs(rule(rate.billing).billed(used) - used) > NOTABLE_ROUNDING * used
        for rate, used in zip(_rates(runs, rates), _used(runs, rates, settings), strict=True)
        if rate is not None and used is not None
    )
    return Message(
        OTHER_RENTAL[settings.rental] if changed else RENTAL[settings.rental],
        {"runs": counted(changed, "run"), "percent": 100 * NOTABLE_ROUNDING},
    )


def _rates(runs: pl.DataFrame, rates: Mapping[str, Rate]) -> Iterator[Rate | None]:
    return (rates.get(scenario) for scenario in runs["scenario"])


def _used(
    runs: pl.DataFrame, rates: Mapping[str, Rate], settings: CostSettings
) -> list[float | None]:
    """What each run used of what its rate is for: seconds, requests or gigabytes."""
    if not rates:
        return [None] * runs.height
    seconds = runs[billed_metric(runs, settings)] + settings.idle_seconds
    requests = _column(runs, INFERENCES, 1.0)
    gigabytes = _column(runs, DATA_BYTES, None) / BYTES_PER_GIGABYTE
    sources = {Unit.REQUEST: requests, Unit.GIGABYTE: gigabytes}
    return [
        None if rate is None else _usable(sources.get(rate.unit, seconds)[place])
        for place, rate in enumerate(_rates(runs, rates))
    ]


def _figures(
    runs: pl.DataFrame, cost: pl.Series, currency: str, settings: CostSettings
) -> Iterator[tuple[str, pl.Series]]:
    """The amount of every run by what a reader may divide it by."""
    if settings.of == "inference":
        yield f"cost_per_inference_{currency}", _ratio(cost, _column(runs, INFERENCES, 1.0))
        return
    yield f"cost_{currency}", cost
    if {"train_seconds", "seconds_per_epoch"} <= set(runs.columns):
        epochs = _ratio(runs["train_seconds"], runs["seconds_per_epoch"])
        yield f"cost_per_epoch_{currency}", _ratio(cost, epochs)
    if (images := images_metric(runs)) is not None:
        yield f"cost_per_1000_images_{currency}", _ratio(cost * 1000, runs[images])


def _in_currency(
    rate: Rate, amount: float, currency: str, exchange: Exchange | None
) -> float | None:
    if rate.currency == currency:
        return amount
    if exchange is not None and (rate.currency, currency) == (exchange.base, exchange.currency):
        return exchange.of(amount)
    return None


def _ratio(upper: pl.Series, lower: pl.Series) -> pl.Series:
    table = pl.DataFrame({"upper": upper, "lower": lower})
    whole = pl.when(pl.col("lower") > 0).then(pl.col("lower"))
    return table.select(pl.col("upper") / whole).to_series()


def _column(runs: pl.DataFrame, name: str, default: float | None) -> pl.Series:
    if name in runs.columns and runs.schema[name].is_numeric():
        return runs[name].cast(pl.Float64)
    return pl.Series(name, [default] * runs.height, pl.Float64)


def _usable(used: float | None) -> float | None:
    return used if used is not None and isfinite(used) and used >= 0 else None


def _times(runs: pl.DataFrame) -> list[str]:
    return [name for name in runs.columns if name.endswith("seconds")]
