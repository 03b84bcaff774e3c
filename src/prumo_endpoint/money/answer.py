"""`prumo advise` about traffic: what to choose, in at most five sentences, and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.errors import InputError
from prumo.message import Message, Series
from prumo.money.price import Kind
from prumo.quantity import Quantity
from prumo.report.cost_sentences import chance
from prumo.report.traffic import TrafficAdvice, TrafficAnswer
from prumo_endpoint.money.choices import works
from prumo_endpoint.money.comparison import compare
from prumo_endpoint.money.offers import DAYS_PER_MONTH, PEAK_FACTOR, Instances

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.money.cost import Costing
    from prumo.report.traffic import TrafficNeed
    from prumo_endpoint.keep_warm.tournament import Interval
    from prumo_endpoint.money.comparison import Compared, Comparison

DIGITS = 3
_LEAST_PERCENT = 1.0


def advise(costing: Costing, need: TrafficNeed) -> TrafficAdvice:
    """Answer for each kind of work."""
    found = works(costing, need.idle_timeout_seconds, need.given)
    if not found:
        raise InputError(
            "no finished run has answered requests and a price; `prumo report` says what the runs "
            "measured, `prumo reprice` names prices"
        )
    compared = [compare(work, need) for work in found]
    currency = costing.currency or ""
    return TrafficAdvice(
        tuple(
            TrafficAnswer(one.work.name, tuple(_sentences(one, currency)), _document(one))
            for one in compared
        ),
        {
            "currency": currency,
            "requests_per_day": compared[0].requests_per_day,
            "goals_seconds": {_percentile_name(share): goal for share, goal in need.goals.items()},
            "idle_timeout_seconds": need.idle_timeout_seconds,
            "peak_factor": PEAK_FACTOR,
            "confidence": need.confidence,
        },
    )


def amount(interval: Interval, currency: str) -> Message | Quantity:
    """Money with half the width of its interval in percent: $2.10 ±3 %."""
    value = Quantity(interval.value, currency, DIGITS)
    if interval.low is None or interval.high is None or interval.high <= interval.low:
        return value
    percent = 50 * (interval.high - interval.low) / interval.value
    if percent < _LEAST_PERCENT:
        return Message("{value} ±<1 %", {"value": value})
    return Message("{value} ±{percent:.0f} %", {"value": value, "percent": percent})


def percentile_text(compared: Compared, share: float) -> Message | Quantity:
    """A percentile at the traffic, or how many requests it needs."""
    answers, value = compared.choice.answers, compared.percentiles[share]
    if answers is None:
        return Message("not measured")
    if value is not None:
        return Quantity(value, "s", DIGITS)
    return Message("n < {needed}", {"needed": answers.needed(share, compared.cold_share)})


def capacity_text(compared: Compared) -> Message | str:
    """Whether it holds the traffic, and what one holds."""
    offer = compared.choice.offer
    rate = offer.capacity_per_second()
    if rate is None:
        return Message("not measured")
    least = "\N{GREATER-THAN OR EQUAL TO} " if compared.choice.is_least_rate else ""
    values: dict[str, object] = {"least": least, "rate": Quantity(rate, "", DIGITS)}
    if compared.holds:
        return Message("yes, {least}{rate}/s", values)
    count = np.inf
    if isinstance(offer, Instances):
        count = float(offer.count(np.array([compared.requests_per_month]))[0, 0])
    if not isfinite(count):
        return Message("no, {least}{rate}/s", values)
    return Message("{count} needed, {least}{rate}/s each", {**values, "count": int(count)})


def _sentences(comparison: Comparison, currency: str) -> Iterator[Message]:
    ranking, closest = comparison.ranking, comparison.closest
    choice = ranking[0] if ranking else closest
    if choice is None:
        yield Message("No choice that was measured holds this traffic.")
        return
    values = {
        "name": choice.choice.name,
        "month": amount(choice.per_month, currency),
        "thousand": amount(choice.per_thousand, currency),
    }
    yield Message(
        "Choose {name}: {month} a month, {thousand} per 1,000."
        if ranking
        else "No option is likely to meet the goals; closest is {name}: {month} a month.",
        values,
    )
    yield _goals(choice, comparison.need)
    if (second := comparison.runner_up) is not None:
        yield Message(
            "Runner-up: {name}, {month} a month; chance that it is cheaper: {chance}.",
            {
                "name": second.choice.name,
                "month": amount(second.per_month, currency),
                "chance": chance(second.chance_cheaper(choice)),
            },
        )
    yield break_even_sentence(comparison)
    yield _caution(choice, comparison)


def _goals(choice: Compared, need: TrafficNeed) -> Message:
    """Percentiles, against their goals where there are any."""
    parts = []
    for share in need.goals or choice.percentiles:
        said: dict[str, object] = {
            "percentile": _percentile_name(share),
            "value": percentile_text(choice, share),
        }
        if choice.percentiles[share] is None:
            said["value"] = Message("{value}, not enough requests", {"value": said["value"]})
        if share not in need.goals:
            parts.append(Message("{percentile}: {value}", said))
            continue
        goal = Quantity(need.goals[share], "s", DIGITS)
        parts.append(
            Message(
                "{percentile}: {value}; within {goal} with a chance of {chance}",
                {**said, "goal": goal, "chance": chance(choice.chances[share])},
            )
        )
    return Message("{parts}.", {"parts": Series(tuple(parts), "; ")})


def break_even_sentence(comparison: Comparison) -> Message:
    """From which traffic on which of serverless and instance is the cheaper one."""
    found = comparison.break_even
    if found is None:
        return Message("No break-even: prices of serverless and of instances are not both known.")
    first, second, even = found
    values: dict[str, object] = {"first": first.name, "second": second.name}
    if even.requests_per_month == 0:
        return Message("At any traffic, {second} is cheaper than {first}.", values)
    if not even.exists:
        return Message("At any traffic, {first} is cheaper than {second}.", values)
    per_day = [
        Quantity(None if a_day is None else _rounded(a_day), "", DIGITS)
        for a_day in map(_per_day, (even.requests_per_month, even.low, even.high))
    ]
    values |= dict(zip(("traffic", "low", "high"), per_day, strict=True))
    if second.answers is None:
        return Message(
            "One {second} (not measured) costs as much as {traffic} requests a day.", values
        )
    if even.low is None:
        return Message("From {traffic} requests a day on, {second} is cheaper.", values)
    return Message(
        "From {traffic} requests a day [{low} to {high}] on, {second} is cheaper.", values
    )


def _caution(choice: Compared, comparison: Comparison) -> Message:
    """Cold starts, capacity, and the traffic that nobody asked for."""
    parts: list[Message] = []
    answers = choice.choice.answers
    if comparison.need.requests_per_day is None:
        traffic = Quantity(comparison.requests_per_day, "", DIGITS)
        parts.append(Message("{traffic} requests a day are assumed", {"traffic": traffic}))
    if choice.choice.kind is not Kind.SERVERLESS:
        parts.append(Message("holds the traffic: {text}", {"text": capacity_text(choice)}))
    elif answers is None or not len(answers.cold_seconds):
        parts.append(Message("cold starts were not measured"))
    else:
        said = {
            "percent": 100 * choice.cold_share,
            "time": Quantity(float(answers.cold_seconds.mean()), "s", DIGITS),
            "idle": Quantity(comparison.need.idle_timeout_seconds, "s", DIGITS),
        }
        parts.append(
            Message("{percent:.2g} % of requests start cold ({time}; idle limit {idle})", said)
        )
    if not choice.choice.is_at_rest:
        parts.append(Message("times are under load"))
    if left_out := comparison.work.left_out:
        names = Series(left_out, ", ")
        parts.append(Message("left out for its several prices: {names}", {"names": names}))
    return Message("Caution: {parts}.", {"parts": Series(tuple(parts), "; ")})


def _document(comparison: Comparison) -> dict[str, Any]:
    ranking, found = comparison.ranking, comparison.break_even
    second = comparison.runner_up
    return {
        "choice": str(ranking[0].choice.name) if ranking else None,
        "runner_up": str(second.choice.name) if second is not None else None,
        "chance_runner_up_is_cheaper": second.chance_cheaper(ranking[0]) if second else None,
        "left_out": list(comparison.work.left_out),
        "without_provisioned_price": list(comparison.work.without_provisioned),
        "choices": [choice_document(one) for one in comparison.compared],
        "break_even": None
        if found is None
        else {
            "first": str(found[0].name),
            "second": str(found[1].name),
            "second_is_measured": found[1].answers is not None,
            **{
                f"{name}_requests_per_day": _per_day(value)
                for name, value in (
                    ("at", found[2].requests_per_month),
                    ("low", found[2].low),
                    ("high", found[2].high),
                )
            },
        },
    }


def choice_document(one: Compared) -> dict[str, Any]:
    """One choice, ready for JSON."""
    answers = one.choice.answers
    is_finite = isfinite(one.per_month.value)
    return {
        "name": str(one.choice.name),
        "kind": one.choice.kind.value,
        "is_measured": answers is not None,
        "warm_requests": len(answers.warm_seconds) if answers is not None else 0,
        "cold_requests": len(answers.cold_seconds) if answers is not None else 0,
        "per_answer": asdict(one.per_answer) if is_finite else None,
        "per_1000": asdict(one.per_thousand) if is_finite else None,
        "per_month": asdict(one.per_month) if is_finite else None,
        "cold_share": one.cold_share,
        "percentiles_seconds": {
            _percentile_name(share): value for share, value in one.percentiles.items()
        },
        "chance_within_goal": {
            _percentile_name(share): value for share, value in one.chances.items()
        },
        "holds_traffic": one.holds,
        "capacity_per_second": one.choice.offer.capacity_per_second(),
    }


def _per_day(requests_per_month: float | None) -> float | None:
    if requests_per_month is None or not isfinite(requests_per_month):
        return None
    return requests_per_month / DAYS_PER_MONTH


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _percentile_name(share: float) -> str:
    return f"p{100 * share:g}"
