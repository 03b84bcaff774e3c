"""What a forecast says, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message, counted, listed
from prumo.quantity import Estimate, Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.results.forecast import Forecast, Span

DIGITS = 2
"""More would claim to know what nobody knows before the runs."""
BUSY_PERCENT = 16
"""From here on the busy machine widens the interval."""


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
    values = {"runs": counted(runs, "run"), "time": estimate_of(forecast.seconds, "s")}
    if forecast.unknown:
        count = counted(len(known), "scenario")
        yield Message("{runs} of {count} will take {time}.", {**values, "count": count})
    else:
        yield Message("{runs} will take {time}.", values)
    yield from _money(forecast)


def _money(forecast: Forecast) -> Iterator[Message]:
    if forecast.cost is None:
        return
    money = estimate_of(forecast.cost, forecast.currency)
    if forecast.billed == "wall_seconds":
        yield Message(
            "They will cost {money}, the whole time of every run being paid for.", {"money": money}
        )
    else:
        yield Message(
            "They will cost {money}, the time of the training alone being paid for.",
            {"money": money},
        )
    unpriced = [row for row in forecast.scenarios if row.seconds and row.cost is None]
    if unpriced:
        yield Message(
            "No price is known for {count}.", {"count": counted(len(unpriced), "scenario")}
        )


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
    scaled = sum(row.basis == "scaled" for row in forecast.scenarios)
    if scaled:
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
