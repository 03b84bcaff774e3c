"""A forecast, its check against the runs, and the estimate of one training, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.forecast.document import CONFIDENCE, TOTAL, Span
from prumo.forecast.estimate import LAYER_SECONDS, PASSES, reached_flops
from prumo.message import Message, counted, listed
from prumo.quantity import Estimate, Quantity
from prumo.report.cost_sentences import exchange_message, rate_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.forecast.document import Forecast
    from prumo.forecast.estimate import Accelerator, Estimated, PassedOver, Training
    from prumo.money.billing import Exchange
    from prumo.money.price import Price

DIGITS = 2
"""More would claim to know what nobody knows before the runs."""
BUSY_PERCENT = 16
"""From here on the busy machine widens the interval."""

TERA = 1e12
FLOP_DIGITS = 3


def forecast_sentences(forecast: Forecast) -> list[Message]:
    """The answer, what it rests on and what it leaves out."""
    return [
        *_answers(forecast),
        *_grounds(forecast),
        *_unknown(forecast),
        *_reservations(forecast),
    ]


def estimate_of(span: Span, unit: str) -> Estimate:
    """A span with its unit, as a report tells it."""
    return Estimate(span.value, span.low, span.high, unit, DIGITS)


def _answers(forecast: Forecast) -> Iterator[Message]:
    if forecast.seconds is None:
        yield Message("Nothing can be said about the time of {study}.", {"study": forecast.study})
        return
    known = [row for row in forecast.scenarios if row.seconds is not None]
    runs = round(sum(row.replications for row in known))
    yield Message(
        "{runs} of {count} will take {time}." if forecast.unknown else "{runs} will take {time}.",
        {
            "runs": counted(runs, "run"),
            "count": counted(len(known), "scenario"),
            "time": estimate_of(forecast.seconds, "s"),
        },
    )
    yield from _money(forecast)


def _money(forecast: Forecast) -> Iterator[Message]:
    if forecast.cost is None:
        return
    money = estimate_of(forecast.cost, forecast.currency)
    yield Message(
        "They will cost {money}, the whole time of every run being paid for."
        if forecast.billed == "wall_seconds"
        else "They will cost {money}, the time of the training alone being paid for.",
        {"money": money},
    )
    if unpriced := sum(bool(row.seconds) and row.cost is None for row in forecast.scenarios):
        yield Message("No price is known for {count}.", {"count": counted(unpriced, "scenario")})


def _grounds(forecast: Forecast) -> Iterator[Message]:
    grounds = forecast.grounds
    if grounds.probe_runs:
        yield Message(
            "It rests on {runs} made for it, of {names}, which took {time} in all.",
            {
                "runs": counted(grounds.probe_runs, "short run"),
                "names": listed(grounds.probed),
                "time": Quantity(grounds.probe_seconds, "s", DIGITS),
            },
        )
    if grounds.earlier_runs:
        yield Message(
            "It rests on {runs} in {names}.",
            {
                "runs": counted(grounds.earlier_runs, "earlier run"),
                "names": listed(grounds.earlier),
            },
        )
    if scaled := sum(row.basis == "scaled" for row in forecast.scenarios):
        yield Message(
            "{count} of {total} were not measured: their time follows from steps, FLOPs, bytes and "
            "levels.",
            {"count": scaled, "total": counted(len(forecast.scenarios), "scenario")},
        )
    for scenario, reason in grounds.left_out.items():
        yield Message(
            "The probe of {scenario} gave nothing: {reason}.",
            {"scenario": scenario, "reason": reason},
        )


def _unknown(forecast: Forecast) -> Iterator[Message]:
    reasons: dict[str, list[str]] = {}
    for row in forecast.unknown:
        reasons.setdefault(row.reason, []).append(row.scenario)
    for reason, names in reasons.items():
        yield Message(
            "Not forecast: {names} ({reason}). Earlier results of such a machine, given with "
            "--from, would help.",
            {"names": listed(names), "reason": reason},
        )


def _reservations(forecast: Forecast) -> Iterator[Message]:
    if forecast.seconds is None:
        return
    if forecast.grounds.pressure_percent > BUSY_PERCENT:
        yield Message(
            "Others were at work on the machine when it was measured: before the runs, processes "
            "waited for a core {percent:.0f} % of the time. On a quiet machine the interval would "
            "be narrower.",
            {"percent": forecast.grounds.pressure_percent},
        )
    yield Message(
        "With {percent:.0f} % probability the truth lies between the values in brackets.",
        {"percent": 100 * forecast.confidence},
    )
    yield Message(
        "Set-up of environments, preparation of data, proofs of equality and the moments between "
        "runs are not counted."
    )


def check_sentences(table: pl.DataFrame) -> list[Message]:
    """How good the forecast was; nothing while no run has finished."""
    scenarios = table.filter(pl.col("scenario") != TOTAL)
    if scenarios.is_empty():
        return []
    said = [
        Message(
            "In {inside} of {count} the mean time of a run came to lie in its interval.",
            {
                "inside": int(scenarios["inside"].sum()),
                "count": counted(scenarios.height, "scenario"),
            },
        )
    ]
    for row in table.filter(pl.col("scenario") == TOTAL).iter_rows(named=True):
        said.append(
            Message(
                "All runs took {fact}; the forecast was {forecast}."
                if row["inside"]
                else "All runs took {fact}, outside of the interval of the forecast, {forecast}.",
                _fact_and_forecast(row, "seconds", "s"),
            )
        )
        if row["fact_cost"] is not None:
            said.append(
                Message(
                    "They cost {fact}; the forecast was {forecast}."
                    if row["low_cost"] <= row["fact_cost"] <= row["high_cost"]
                    else "They cost {fact}, outside of the interval of the forecast, {forecast}.",
                    _fact_and_forecast(row, "cost", row["currency"]),
                )
            )
    return said


def _fact_and_forecast(row: Mapping[str, Any], of: str, unit: str) -> dict[str, object]:
    value, low, high = (row[f"{name}_{of}"] for name in ("forecast", "low", "high"))
    forecast = Estimate(value, low, high, unit, DIGITS)
    return {"fact": Quantity(row[f"fact_{of}"], unit), "forecast": forecast}


def estimate_sentences(
    training: Training, price: Price, estimated: Estimated, exchange: Exchange | None = None
) -> list[Message]:
    """The answer, what it rests on and what it leaves out."""
    return [
        *_time_and_cost(training, price, estimated, exchange),
        _work(training),
        *_basis(training, price, estimated),
    ]


def _time_and_cost(
    training: Training, price: Price, estimated: Estimated, exchange: Exchange | None
) -> Iterator[Message]:
    seconds = estimated.seconds
    yield Message(
        "A rough estimate: to train {network} on {machine} takes between {low} and {high}, "
        "perhaps {value}."
        if estimated.is_rough
        else "To train {network} on {machine} takes {value}, between {low} and {high}.",
        {
            "network": training.network.name,
            "machine": price.name,
            "value": Quantity(seconds.value, "s", DIGITS),
            "low": Quantity(seconds.low, "s", DIGITS),
            "high": Quantity(seconds.high, "s", DIGITS),
        },
    )
    if estimated.cost is None or estimated.rate is None:
        return
    yield Message(
        "It costs {money}: {rate}.",
        {
            "money": estimate_of(estimated.cost, estimated.rate.currency),
            "rate": rate_message(estimated.rate),
        },
    )
    if exchange is not None and exchange.base == estimated.rate.currency:
        cost = estimated.cost
        span = Span(
            value=exchange.of(cost.value), low=exchange.of(cost.low), high=exchange.of(cost.high)
        )
        yield Message(
            "That is {money} ({rate}).",
            {"money": estimate_of(span, exchange.currency), "rate": exchange_message(exchange)},
        )


def _work(training: Training) -> Message:
    work = training.work
    return Message(
        "The training is {epochs} over {images} of {side} by {side} pixels in batches of {batch}: "
        "{steps} and {flops}, three times the forward ones.",
        {
            "epochs": counted(training.epochs, "epoch"),
            "images": counted(training.images, "image"),
            "side": training.network.input_shape[1],
            "batch": training.batch_size,
            "steps": counted(work.steps, "step"),
            "flops": Quantity(work.training_flops, "FLOP", FLOP_DIGITS),
        },
    )


def _basis(training: Training, price: Price, estimated: Estimated) -> Iterator[Message]:
    if not estimated.is_rough:
        yield Message(
            "It rests on {runs} measured on such a machine ({machines}), scaled by steps, FLOPs "
            "and bytes; with {percent:.0f} % probability the truth lies in the interval.",
            {
                "runs": counted(estimated.runs, "run"),
                "machines": listed(estimated.machines),
                "percent": 100 * CONFIDENCE,
            },
        )
    elif estimated.accelerator is not None:
        yield from _data_sheet(training, price, estimated.accelerator)
    yield from map(_passed_over, estimated.passed_over)
    if estimated.is_rough:
        yield Message(
            "Results of such a machine, given with --from, would narrow it; so would a short "
            "`prumo run` there."
        )
    if price.accelerator_count > 1:
        yield Message(
            "One of its {count} accelerators works; all of them are paid for.",
            {"count": Quantity(price.accelerator_count)},
        )


def _data_sheet(training: Training, price: Price, accelerator: Accelerator) -> Iterator[Message]:
    least, most = reached_flops(accelerator, training.precision)
    yield Message(
        "Nothing was measured on such a machine. It rests on the data sheet of {name} ({source}): "
        "trainings are taken to reach {least:.3g} to {most:.3g} of its {peak:.3g} TFLOP/s in "
        "{precision}, to move their activations through its memory {fewest} to {often} times, and "
        "to need {quick} to {slow} to start each layer in each step.",
        {
            "name": price.accelerator or counted(int(price.vcpus or 0), "core"),
            "source": accelerator.source,
            "least": least / TERA,
            "most": most / TERA,
            "peak": accelerator.peak_flops(training.precision)[1] / TERA,
            "precision": accelerator.peak_format(training.precision),
            "fewest": PASSES[0],
            "often": PASSES[1],
            "quick": Quantity(LAYER_SECONDS[0], "s", DIGITS),
            "slow": Quantity(LAYER_SECONDS[1], "s", DIGITS),
        },
    )


def _passed_over(passed: PassedOver) -> Message:
    runs = counted(passed.runs, "run")
    if passed.unlike is None:
        return Message(
            "Given with --from but not counted: {runs} without the time of a training.",
            {"runs": runs},
        )
    return Message(
        "Given with --from but not counted: {runs} with {was}, not with {wanted}.",
        {"runs": runs, "was": _kind(passed.unlike.was), "wanted": _kind(passed.unlike.wanted)},
    )


def _kind(name: str | int) -> str | Message:
    return counted(name, "core") if isinstance(name, int) else name
