"""What a comparison of levels says, in sentences that its runs support."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prumo.message import Message, Series
from prumo.quantity import Estimate, Quantity
from prumo.report.label import metric_title
from prumo.statistics.comparison import Verdict
from prumo.statistics.interval import BOOTSTRAP_MINIMUM_VALUES
from prumo.statistics.metric import Better, Kind, metric_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.statistics.comparison import Comparison, LevelComparison
    from prumo.statistics.interval import Ratio

RATIO_DIGITS = 3
MOST_RATIO_DIGITS = 9


@dataclass(frozen=True)
class Wording:
    """How two levels are compared in one kind of metric; the one named first has more of it."""

    more: Message
    """What the first-named is: faster, more expensive, higher."""
    less: Message
    lead: Verdict
    """The verdict on the metric of a level that has more: a faster one takes less time."""
    told: Message
    open: Message
    """The runs cannot show which has more."""
    few: Message
    """There are too few runs to tell."""
    sure: Message
    """In how many combinations the first-named clearly has more."""
    opposed: Message
    """In how many it clearly has less."""


TIME = Wording(
    more=Message("faster"),
    less=Message("slower"),
    lead=Verdict.LOWER,
    told=Message("{one} is {ratio} times as fast as {other}"),
    open=Message(
        "These runs cannot show whether {one} or {other} is faster: {one} seems {ratio} times as "
        "fast as {other}"
    ),
    few=Message("Too few runs to be sure: {one} seems {ratio} times as fast as {other}"),
    sure=Message("clearly faster in {count}"),
    opposed=Message("clearly slower in {count}"),
)
RATE = replace(TIME, lead=Verdict.HIGHER)
MONEY = Wording(
    more=Message("more expensive"),
    less=Message("cheaper"),
    lead=Verdict.HIGHER,
    told=Message("{one} costs {ratio} times as much as {other}"),
    open=Message(
        "These runs cannot show whether {one} or {other} costs more: {one} seems to cost {ratio} "
        "times as much as {other}"
    ),
    few=Message("Too few runs to be sure: {one} seems to cost {ratio} times as much as {other}"),
    sure=Message("clearly more expensive in {count}"),
    opposed=Message("clearly cheaper in {count}"),
)
AMOUNT = Wording(
    more=Message("higher"),
    less=Message("lower"),
    lead=Verdict.HIGHER,
    told=Message("{metric}: with {one} it is {ratio} times what it is with {other}"),
    open=Message(
        "{metric}: these runs cannot show whether it is higher with {one} or with {other}; with "
        "{one} it seems {ratio} times what it is with {other}"
    ),
    few=Message(
        "{metric}: too few runs to be sure; with {one} it seems {ratio} times what it is with "
        "{other}"
    ),
    sure=Message("clearly higher in {count}"),
    opposed=Message("clearly lower in {count}"),
)


def comparison_sentences(comparison: Comparison) -> list[Message]:
    """A sentence per pair of levels."""
    return [_sentence(comparison, pair) for pair in comparison.pairs]


def comparison_remarks(comparison: Comparison) -> Iterator[Message]:
    """What a reader must know about the tests behind the sentences."""
    if comparison.tests > 1:
        yield Message(
            "An interval is about its ratio alone. The verdicts on {count} combinations hold "
            "together: a false alarm anywhere among them has a chance of {risk:.2g} % at most "
            "(Holm), so a ratio whose interval leaves out 1 need not be a sure difference.",
            {"count": comparison.tests, "risk": 100 * (1 - comparison.confidence)},
        )
    if any(pair.rests_on_combinations for pair in comparison.pairs):
        yield Message(
            "Some combinations ran once, so the interval over all combinations rests on how their "
            "ratios differ."
        )
    if comparison.is_bootstrap:
        yield Message(
            "Intervals are by the bootstrap and need {count} runs of each level: where there are "
            "fewer, there is none. Verdicts do not depend on them.",
            {"count": BOOTSTRAP_MINIMUM_VALUES},
        )
    if unmatched := sum(pair.unmatched for pair in comparison.pairs):
        yield Message(
            "{count} comparison of two levels is left out: in its combination only one of the two "
            "has figures.",
            {"count": unmatched},
            "{count} comparisons of two levels are left out: in their combinations only one of the "
            "two has figures.",
        )


def verdict_word(metric: str, verdict: Verdict) -> Message:
    """A verdict on a level's metric in the word that suits it, such as `faster`."""
    if verdict is Verdict.NOT_TOLD_APART:
        return Message("no clear difference")
    if verdict is Verdict.TOO_FEW_RUNS:
        return Message("too few runs")
    wording = wording_of(metric)
    return wording.more if verdict is wording.lead else wording.less


def level_name(factor: str, level: str) -> str:
    """A level as a sentence names it: a number or a truth value says nothing without its factor.

    >>> level_name("framework", "pytorch"), level_name("batch_size", "64")
    ('pytorch', 'batch_size 64')
    """
    speaks = any(letter.isalpha() for letter in level) and level not in {"true", "false"}
    return level if speaks and not _is_number(level) else f"{factor} {level}"


def ratio_digits(ratio: float) -> int:
    """How many digits tell a ratio from 1, three at least.

    >>> ratio_digits(1.3217), ratio_digits(1.00042)
    (3, 5)
    """
    return next(
        (
            digits
            for digits in range(RATIO_DIGITS, MOST_RATIO_DIGITS)
            if round(ratio, digits - 1) != 1
        ),
        MOST_RATIO_DIGITS if ratio != 1 else RATIO_DIGITS,
    )


def wording_of(metric: str) -> Wording:
    """How levels are compared in a metric."""
    known = metric_of(metric)
    if known.kind is Kind.MONEY:
        return MONEY
    if known.kind is Kind.SPEED:
        return RATE if known.better is Better.HIGHER else TIME
    return AMOUNT


def _is_number(level: str) -> bool:
    try:
        float(level)
    except ValueError:
        return False
    return True


def _sentence(comparison: Comparison, pair: LevelComparison) -> Message:
    first, second = (level_name(comparison.factor, level) for level in (pair.level, pair.other))
    if pair.ratio is None:
        return Message(
            "{one} and {other} have figures in no common combination of the other factors.",
            {"one": first, "other": second},
        )
    wording = wording_of(comparison.metric)
    is_turned = _oriented(pair.ratio, wording).value < 1
    one, other = (second, first) if is_turned else (first, second)
    ratio = _oriented(pair.ratio, wording, is_turned=is_turned)
    times = Estimate(ratio.value, ratio.low, ratio.high, digits=ratio_digits(ratio.value))
    text = {Verdict.TOO_FEW_RUNS: wording.few, Verdict.NOT_TOLD_APART: wording.open}.get(
        pair.verdict, wording.told
    )
    metric = metric_title(comparison.metric)
    main = replace(text, values={"metric": metric, "one": one, "other": other, "ratio": times})
    if len(pair.matched) == 1:
        return Message("{main}.", {"main": main})
    details = Series(tuple(_details(pair, wording, is_turned=is_turned)))
    return Message(
        "{main}, on average over {count} combinations: {details}.",
        {"main": main, "count": len(pair.matched), "details": details},
    )


def _details(pair: LevelComparison, wording: Wording, *, is_turned: bool) -> Iterator[Message]:
    """What single combinations say of the level that is named first."""
    opposite = Verdict.LOWER if wording.lead is Verdict.HIGHER else Verdict.HIGHER
    more, less = (opposite, wording.lead) if is_turned else (wording.lead, opposite)
    yield replace(wording.sure, values={"count": pair.count(more)})
    if opposed := pair.count(less):
        yield replace(wording.opposed, values={"count": opposed})
    if undecided := pair.count(Verdict.NOT_TOLD_APART):
        yield Message("no clear difference in {count}", {"count": undecided})
    if few := pair.count(Verdict.TOO_FEW_RUNS):
        yield Message("too few runs in {count}", {"count": few})
    ratios = [
        _oriented(matched.ratio, wording, is_turned=is_turned).value for matched in pair.matched
    ]
    least, most = min(ratios), max(ratios)
    digits = max(ratio_digits(least), ratio_digits(most))
    yield Message(
        "from {least} to {most} times in single ones",
        {"least": Quantity(least, digits=digits), "most": Quantity(most, digits=digits)},
    )


def _oriented(ratio: Ratio, wording: Wording, *, is_turned: bool = False) -> Ratio:
    """How many times as much the first level has, or the second where they are turned."""
    return ratio.inverse if (wording.lead is Verdict.LOWER) is not is_turned else ratio
