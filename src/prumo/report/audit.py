"""An audit for people and for programs: each claim, what the data give, and what follows."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from math import inf
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.foreign.audit import PERCENT, TIMES, Judgement, ReasonKind, audit
from prumo.foreign.claim_figures import Scenarios
from prumo.message import Message, Series
from prumo.money.cost import kept_costing
from prumo.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console

    from prumo.foreign.audit import Audited, Reason
    from prumo.foreign.claim_figures import Scope
    from prumo.foreign.claims import Claims, Stated
    from prumo.report.language import Language
    from prumo.results.tables import Results
    from prumo.study import Level
    from prumo.study.document import SectionFile

DIFFERENCE_DIGITS = 3
WORDS = {
    Judgement.AGREES: Message("agrees"),
    Judgement.AGREES_IN_PART: Message("agrees in part"),
    Judgement.DIFFERS: Message("differs"),
    Judgement.CONTRADICTED: Message("contradicted"),
    Judgement.NOT_SUPPORTED: Message("not supported"),
}
REASONS = {
    ReasonKind.NO_RUNS: "no finished run measures it",
    ReasonKind.NOT_POSITIVE: "not everything is above zero, so there is no ratio",
    ReasonKind.NOT_PUBLISHED: "the published figures do not include it",
    ReasonKind.NO_DEVIATION: "a single run has no standard deviation",
    ReasonKind.NO_SPREAD: "a single value on one side allows no test",
    ReasonKind.NOT_APART: "the data show no clear difference",
    ReasonKind.OPPOSITE: "the data clearly show the opposite",
    ReasonKind.EXCEPTIONS: "on average it is so, in {count} of {all} pairs it is not",
    ReasonKind.OUTSIDE: "{count} of {all} scenarios lie outside; they range from {low} to {high}",
}
ORDERINGS = {"less": Message("less"), "more": Message("more")}

_COLOURS = {
    Judgement.AGREES: "green",
    Judgement.AGREES_IN_PART: "yellow",
    Judgement.DIFFERS: "yellow",
    Judgement.CONTRADICTED: "red",
    Judgement.NOT_SUPPORTED: "yellow",
}


def audit_results(
    results: Results, claims: SectionFile[Claims], confidence: float
) -> list[Audited]:
    """Judge claims by the runs of a results folder and what they cost."""
    levels: dict[str, Sequence[Level]] = dict.fromkeys(results.factors, ())
    if results.study is not None:
        levels |= dict(zip(results.factors, results.study.factors.values(), strict=False))
    scenarios = Scenarios(kept_costing(results).runs, levels, results.spreads)
    return audit(claims, scenarios, confidence)


def print_audit(
    audited: Sequence[Audited], confidence: float, language: Language, console: Console
) -> None:
    """A row per claim, then how many of them the data bear out."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=False)
    table.add_column(language.say("claim"), overflow="fold", ratio=3)
    table.add_column(language.say("stated"), justify="right")
    table.add_column(language.say("data"), justify="right")
    percent = Message("{percent:g} % interval", {"percent": 100 * confidence})
    table.add_column(language.say(percent), justify="right")
    table.add_column(language.say("verdict"), overflow="fold", ratio=2)
    for item in audited:
        low, high = (item.found.low, item.found.high) if item.found else (None, None)
        table.add_row(
            Text(item.claim.says),
            stated_text(item, language),
            found_text(item, language),
            language.interval(low, high),
            Text(verdict_text(item, language), style=_COLOURS[item.judgement]),
        )
    console.print(table)
    console.print(language.say(_total(audited)))


def audit_document(audited: Sequence[Audited], language: Language) -> list[dict[str, Any]]:
    """The audit ready for JSON; figures as numbers, words in the language."""
    return [
        {
            "says": item.claim.says,
            "metric": item.claim.metric,
            "of": item.scope.one,
            "than": item.scope.other,
            "statement": item.claim.kind,
            "stated": item.claim.stated.text if item.claim.stated else item.claim.ordering,
            "tolerance": item.claim.allowance,
            "unit": item.unit,
            "found": item.found.value if item.found else None,
            "low": item.found.low if item.found else None,
            "high": item.found.high if item.found else None,
            "verdict": item.judgement.value,
            "difference": item.difference,
            "difference_percent": item.difference_percent,
            "inside_interval": item.is_inside_interval,
            "words": verdict_text(item, language),
            "true_of": None
            if item.alternative is None
            else {"of": item.alternative.one, "than": item.alternative.other},
        }
        for item in audited
    ]


def _total(audited: Sequence[Audited]) -> Message:
    counts = Counter(item.judgement for item in audited)
    return Message(
        "{agree} of {all} claims agree with the data; {partly} agree in part, {differ} differ, "
        "{contradicted} are contradicted, {unsupported} are not supported.",
        {
            "agree": counts[Judgement.AGREES],
            "all": len(audited),
            "partly": counts[Judgement.AGREES_IN_PART],
            "differ": counts[Judgement.DIFFERS],
            "contradicted": counts[Judgement.CONTRADICTED],
            "unsupported": counts[Judgement.NOT_SUPPORTED],
        },
    )


def stated_text(item: Audited, language: Language) -> str:
    """What was stated, with its unit and what it may differ by."""
    stated = item.claim.stated
    if stated is None:
        return language.say(ORDERINGS[str(item.claim.ordering)])
    told = _figure(stated, item.unit, language)
    if not item.claim.allowance:
        return told
    # Without an exponent: it stands beside the digits that it is about.
    allowance = format(Decimal(f"{item.claim.allowance:.3g}"), "f")
    return f"{told} ±{language.marks.localized(allowance)}"


def found_text(item: Audited, language: Language) -> str:
    """What the data give in its place."""
    if item.found is None:
        return language.number(None)
    return _with_unit(language.number(item.found.value, item.digits), item.unit)


def verdict_text(item: Audited, language: Language) -> str:
    """The verdict in words, and of which scenarios the claim would be true."""
    told = _verdict(item, language)
    if item.alternative is None or item.claim.stated is None:
        return told
    figure = _figure(item.claim.stated, item.unit, language)
    return f"{told}\n{language.say(_alternative(figure, item.scope, item.alternative))}"


def _verdict(item: Audited, language: Language) -> str:
    word = language.say(WORDS[item.judgement])
    if item.reason is not None:
        return f"{word}: {language.say(_reason(item.reason))}"
    if item.judgement is not Judgement.DIFFERS or item.difference is None:
        return word
    said = Message(
        "differs by {difference}, inside the interval"
        if item.is_inside_interval
        else "differs by {difference}",
        {"difference": _difference(item.difference, item, language)},
    )
    return language.say(said)


def _difference(difference: float, item: Audited, language: Language) -> str:
    """How far the data are from what was stated, and in percent of it."""
    amount = _signed(difference, language)
    if item.unit == PERCENT:
        return language.say(Message("{amount} percentage points", {"amount": amount}))
    told = amount if item.unit == TIMES else _with_unit(amount, item.unit)
    if item.difference_percent is None:
        return told
    return f"{told} ({_signed(item.difference_percent, language)} %)"


def _reason(reason: Reason) -> Message:
    limits = {
        name: Quantity(value) if name in {"low", "high"} else value
        for name, value in reason.values.items()
    }
    return Message(REASONS[reason.kind], limits)


def _alternative(figure: str, claimed: Scope, scope: Scope) -> Message:
    changed = [name for name, level in scope.one.items() if claimed.one[name] != level]
    one = _levels(scope.one, dict.fromkeys([*scope.apart, *changed]))
    other = _levels(scope.other, scope.apart) if scope.other else None
    return Message(
        "{figure} is {one}" if other is None else "{figure} is {one} against {other}",
        {"figure": figure, "one": one, "other": other},
    )


def _levels(levels: Mapping[str, str], names: Iterable[str]) -> Series:
    return Series(tuple(f"{name} {levels[name]}" for name in names))


def _figure(stated: Stated, unit: str, language: Language) -> str:
    """A stated figure with its unit, its digits as they were printed."""
    numbers = [language.marks.localized(number) for number in stated.numbers]
    if stated.low == -inf:
        told = language.say(Message("at most {number}", {"number": numbers[0]}))
    elif stated.high == inf:
        told = language.say(Message("at least {number}", {"number": numbers[0]}))
    elif stated.is_range:
        told = language.say(Message("{low} to {high}", {"low": numbers[0], "high": numbers[1]}))
    else:
        told = numbers[0]
    return _with_unit(told, unit)


def _signed(value: float, language: Language) -> str:
    return ("+" if value > 0 else "") + language.number(value, DIFFERENCE_DIGITS)


def _with_unit(number: str, unit: str) -> str:
    return f"{number} {unit}" if unit else number
