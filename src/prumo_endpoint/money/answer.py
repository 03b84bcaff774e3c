"""`prumo advise` about traffic: what to choose, in at most five sentences, and as JSON.

Where a study asks about several works, the sentences are about all of them, and a table has a row
for each.
"""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.errors import InputError
from prumo.message import Message, Series
from prumo.money.price import Kind
from prumo.quantity import MISSING, Quantity
from prumo.report.cost_sentences import chance
from prumo.report.traffic import TrafficAdvice, TrafficAnswer
from prumo_endpoint.money.choices import works
from prumo_endpoint.money.comparison import compare
from prumo_endpoint.money.offers import DAYS_PER_MONTH, PEAK_FACTOR, Instances, Serverless

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prumo.money.cost import Costing
    from prumo.report.traffic import TrafficNeed
    from prumo_endpoint.keep_warm.tournament import Interval
    from prumo_endpoint.money.comparison import Compared, Comparison

DIGITS = 3
SECONDS_PER_DAY = 86_400
_LEAST_PERCENT = 1.0
_MOST_GROUPS = 3
_MOST_NAMES = 3


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
            TrafficAnswer(
                one.work.name,
                tuple(_sentences(one, currency)),
                _document(one),
                tuple(_cells(one, currency)),
            )
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
        tuple(_summary(compared, currency)) if len(compared) > 1 else (),
        (
            *(Message("for"), Message("choose"), Message("per month")),
            *map(_goal_head, need.goals),
            *(Message("runner-up"), Message("per month"), Message("break-even a day")),
        ),
    )


def first_sentence(comparisons: Sequence[Comparison], currency: str) -> Message:
    """What to choose, as the first line of the advice says it."""
    if len(comparisons) > 1:
        return next(_summary(comparisons, currency))
    return next(_sentences(comparisons[0], currency))


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
    if isinstance(offer, Serverless):
        each = Quantity(rate / offer.max_concurrency, "", DIGITS - 1)
        values = {"count": offer.max_concurrency, "rate": each}
        return Message(
            "yes, {count}\N{MULTIPLICATION SIGN}{rate}/s"
            if compared.holds
            else "no, {count}\N{MULTIPLICATION SIGN}{rate}/s",
            values,
        )
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
    traffic = _traffic(comparison)
    if choice is None:
        yield from _beyond(comparison, traffic)
        return
    values = {
        "traffic": traffic,
        "name": choice.choice.name,
        "month": amount(choice.per_month, currency),
    }
    yield Message(
        "At {traffic}: choose {name}: {month} a month."
        if ranking
        else "At {traffic}, no option is likely to meet the goals; closest is {name}: {month} a "
        "month.",
        values,
    )
    yield _goals(choice, comparison.need, currency)
    if (second := comparison.runner_up) is not None:
        yield Message(
            "Runner-up: {name}, {month} a month; chance to be cheaper: {chance}.",
            {
                "name": second.choice.name,
                "month": amount(second.per_month, currency),
                "chance": chance(second.chance_cheaper(choice)),
            },
        )
    if (even := break_even_sentence(comparison)) is not None:
        yield even
    yield from _caution(choice, comparison)


def _traffic(comparison: Comparison) -> Message:
    """The traffic that the answer holds for."""
    return Message(
        "{count:,.0f} requests a day (assumed)"
        if comparison.need.requests_per_day is None
        else "{count:,.0f} requests a day",
        {"count": float(comparison.requests_per_day)},
    )


def _beyond(comparison: Comparison, traffic: Message) -> Iterator[Message]:
    """That the traffic is too much, and how much would not be."""
    yield Message(
        "At {traffic}: none of the measured choices holds this traffic.", {"traffic": traffic}
    )
    able = [
        (offer.capacity_per_second(), offer.max_concurrency, one.choice.name)
        for one in comparison.compared
        if isinstance(offer := one.choice.offer, Serverless)
    ]
    if able:
        rate, at_once, name = max(able, key=lambda each: each[0])
        peak = PEAK_FACTOR * comparison.requests_per_day / SECONDS_PER_DAY
        yield Message(
            "Of peaks of {peak}/s, {name} holds {rate}/s with {at_once} instances at once "
            "(`max_concurrency`).",
            {
                "peak": Quantity(peak, "", DIGITS),
                "name": name,
                "rate": Quantity(rate, "", DIGITS),
                "at_once": at_once,
            },
        )


def _goals(choice: Compared, need: TrafficNeed, currency: str) -> Message:
    """Percentiles, against their goals where there are any, and otherwise beside the cost."""
    parts: list[Message] = []
    if not need.goals:
        thousand = Quantity(choice.per_thousand.value, currency, DIGITS)
        parts.append(Message("{thousand} per 1,000 answers", {"thousand": thousand}))
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


def break_even_sentence(comparison: Comparison) -> Message | None:
    """From which traffic on which of serverless and instance is the cheaper one.

    None where only one of the two has a price.
    """
    found = comparison.break_even
    if found is None:
        return None
    first, second, even = found
    values: dict[str, object] = {"first": first.name, "second": second.name}
    if even.requests_per_month == 0:
        return Message("At any traffic, {second} is cheaper than {first}.", values)
    if not even.exists and even.second_between is None:
        return Message("At any traffic, {first} is cheaper than {second}.", values)
    at = even.second_between or (even.low, even.high)
    per_day = [
        Quantity(None if a_day is None else _rounded(a_day), "", DIGITS)
        for a_day in map(_per_day, (even.requests_per_month, *at))
    ]
    values |= dict(zip(("traffic", "low", "high"), per_day, strict=True))
    if even.second_between:
        return Message(
            "Only from about {low} to {high} requests a day, {second} is cheaper.", values
        )
    return _break_even_at(values, is_measured=second.answers is not None)


def _break_even_at(values: dict[str, object], *, is_measured: bool) -> Message:
    if not is_measured:
        return Message(
            "One {second} (not measured) costs as much as {traffic} requests a day.", values
        )
    if values["low"] == Quantity(None, "", DIGITS):
        return Message("From {traffic} requests a day on, {second} is cheaper.", values)
    return Message(
        "From {traffic} requests a day [{low} to {high}] on, {second} is cheaper.", values
    )


def _caution(choice: Compared, comparison: Comparison) -> Iterator[Message]:
    """Another machine, too little capacity, cold starts, load and what is left out."""
    parts: list[Message] = []
    answers = choice.choice.answers
    if choice.choice.is_elsewhere:
        parts.append(Message("measured on another machine"))
    if choice.choice.kind is not Kind.SERVERLESS:
        if choice.holds is None:
            parts.append(Message("how much it holds was not measured"))
        elif not choice.holds:
            parts.append(Message("instances: {text}", {"text": capacity_text(choice)}))
    elif answers is None or not len(answers.cold_seconds):
        parts.append(Message("cold starts were not measured"))
    else:
        said = {
            "percent": 100 * choice.cold_share,
            "time": Quantity(float(answers.cold_seconds.mean()), "s", DIGITS),
            "idle": Quantity(comparison.need.idle_timeout_seconds, "s", DIGITS),
        }
        parts.append(Message("{percent:.2g} % start cold ({time}; idle {idle})", said))
    if not choice.choice.is_at_rest:
        parts.append(Message("times are under load"))
    if left_out := comparison.work.left_out:
        names = Series(left_out, ", ")
        parts.append(Message("left out for its several prices: {names}", {"names": names}))
    if parts:
        yield Message("Caution: {parts}.", {"parts": Series(tuple(parts), "; ")})


def _summary(comparisons: Sequence[Comparison], currency: str) -> Iterator[Message]:
    """At most five sentences about several works: what to choose, how sure, and a caution."""
    chosen: dict[str, list[Comparison]] = {}
    for one in comparisons:
        chosen.setdefault(str(one.ranking[0].choice.name) if one.ranking else "", []).append(one)
    by_count = sorted(chosen.values(), key=len, reverse=True)
    shown = by_count if len(by_count) <= _MOST_GROUPS else by_count[: _MOST_GROUPS - 1]
    for place, group in enumerate(shown):
        yield _group_sentence(group, currency, is_first=place == 0)
    if others := sum(map(len, by_count[len(shown) :])):
        yield Message("For {count} others, see the table.", {"count": others})
    best = [(one.ranking[0], one) for one in comparisons if one.ranking]
    if best and best[0][1].need.goals:
        choice, one = min(best, key=lambda each: each[0].chance)
        share = min(choice.chances, key=lambda each: choice.chances[each])
        yield Message(
            "Least sure is {work}: {percentile} within {goal} with a chance of {chance}.",
            {
                "work": one.work.name,
                "percentile": _percentile_name(share),
                "goal": Quantity(one.need.goals[share], "s", DIGITS),
                "chance": chance(choice.chances[share]),
            },
        )
    if parts := tuple(_cautions_of_all(comparisons)):
        yield Message("Caution: {parts}.", {"parts": Series(parts, "; ")})


def _group_sentence(group: Sequence[Comparison], currency: str, *, is_first: bool) -> Message:
    """Works for which the same is the best; the first sentence states the traffic."""
    names = [one.work.name for one in group]
    shown: list[object] = list(names[:_MOST_NAMES])
    if more := len(names) - len(shown):
        shown.append(Message("{count} more", {"count": more}))
    works = Series(tuple(shown), ", ")
    traffic = _traffic(group[0])
    if not group[0].ranking:
        return Message(
            "At {traffic}: no option is likely to meet the goals for {works}."
            if is_first
            else "No option is likely to meet the goals for {works}.",
            {"works": works, "traffic": traffic},
        )
    months = [one.ranking[0].per_month.value for one in group]
    values = {
        "traffic": traffic,
        "name": group[0].ranking[0].choice.name,
        "works": works,
        "low": Quantity(min(months), currency, DIGITS),
        "high": Quantity(max(months), currency, DIGITS),
    }
    if is_first:
        if values["low"] == values["high"]:
            return Message("At {traffic}: choose {name} for {works}: {low} a month.", values)
        return Message("At {traffic}: choose {name} for {works}: {low} to {high} a month.", values)
    if values["low"] == values["high"]:
        return Message("Choose {name} for {works}: {low} a month.", values)
    return Message("Choose {name} for {works}: {low} to {high} a month.", values)


def _cautions_of_all(comparisons: Sequence[Comparison]) -> Iterator[Message]:
    best = [(one.ranking[0], one.work.name) for one in comparisons if one.ranking]
    if not best:
        return
    if any(choice.choice.is_elsewhere for choice, _ in best):
        yield Message("measured on another machine")
    worst, work = max(best, key=lambda each: each[0].cold_share)
    if worst.cold_share:
        values: dict[str, object] = {"percent": 100 * worst.cold_share, "work": work}
        yield Message("up to {percent:.2g} % start cold ({work})", values)
    if not all(choice.choice.is_at_rest for choice, _ in best):
        yield Message("times are under load")


def _cells(comparison: Comparison, currency: str) -> Iterator[object]:
    """One work in a row: the choice, its cost, chances of the goals, runner-up, break-even."""
    ranking, second, found = comparison.ranking, comparison.runner_up, comparison.break_even
    first = ranking[0] if ranking else None
    yield first.choice.name if first else MISSING
    yield Quantity(first.per_month.value, currency, DIGITS) if first else MISSING
    for share in comparison.need.goals:
        yield _percent(first.chances[share]) if first else MISSING
    yield second.choice.name if second else MISSING
    yield Quantity(second.per_month.value, currency, DIGITS) if second else MISSING
    is_known = found is not None and found[2].exists
    per_day = _per_day(found[2].requests_per_month) if found is not None and is_known else None
    yield MISSING if per_day is None else Quantity(_rounded(per_day), "", DIGITS)


def _percent(value: float) -> Message:
    """A chance in few characters."""
    least = _LEAST_PERCENT / 10
    nearly = {"sign": "", "percent": Quantity(100 * value, "", DIGITS)}
    if 100 * value > 100 - least:
        nearly = {"sign": "> ", "percent": Quantity(100 - least, "", DIGITS)}
    elif 100 * value < least:
        nearly = {"sign": "< ", "percent": Quantity(least, "", DIGITS)}
    return Message("{sign}{percent} %", nearly)


def _goal_head(share: float) -> Message:
    return Message("{percentile} kept", {"percentile": _percentile_name(share)})


def _document(comparison: Comparison) -> dict[str, Any]:
    ranking, found = comparison.ranking, comparison.break_even
    second = comparison.runner_up
    return {
        "choice": str(ranking[0].choice.name) if ranking else None,
        "runner_up": str(second.choice.name) if second is not None else None,
        "chance_runner_up_is_cheaper": second.chance_cheaper(ranking[0]) if second else None,
        "left_out": list(comparison.work.left_out),
        "without_data_price": list(comparison.work.without_data_price),
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
    answers, offer = one.choice.answers, one.choice.offer
    is_finite = isfinite(one.per_month.value)
    return {
        "name": str(one.choice.name),
        "kind": one.choice.kind.value,
        "is_measured": answers is not None,
        "is_measured_elsewhere": one.choice.is_elsewhere,
        "warm_requests": len(answers.warm_seconds) if answers is not None else 0,
        "cold_requests": len(answers.cold_seconds) if answers is not None else 0,
        "per_answer": asdict(one.per_answer) if is_finite else None,
        "per_1000": asdict(one.per_thousand) if is_finite else None,
        "per_month": asdict(one.per_month) if is_finite else None,
        "data_per_1000": one.data_per_thousand,
        "cold_share": one.cold_share,
        "percentiles_seconds": {
            _percentile_name(share): value for share, value in one.percentiles.items()
        },
        "chance_within_goal": {
            _percentile_name(share): value for share, value in one.chances.items()
        },
        "holds_traffic": one.holds,
        "capacity_per_second": offer.capacity_per_second(),
        "max_concurrency": offer.max_concurrency if isinstance(offer, Serverless) else None,
    }


def _per_day(requests_per_month: float | None) -> float | None:
    if requests_per_month is None or not isfinite(requests_per_month):
        return None
    return requests_per_month / DAYS_PER_MONTH


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _percentile_name(share: float) -> str:
    return f"p{100 * share:g}"
