"""What an audit says of one claim, in the reader's language."""

from __future__ import annotations

from decimal import Decimal
from math import inf
from typing import TYPE_CHECKING

from prumo.analyse.claims.audit import PERCENT, TIMES, Judgement
from prumo.message import Message, Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prumo.analyse.claims.audit import Audited
    from prumo.analyse.claims.claim import Stated
    from prumo.analyse.claims.claim_scope import Scope
    from prumo.report.language import Language

DIFFERENCE_DIGITS = 3
WORDS = {
    Judgement.AGREES: Message("agrees"),
    Judgement.AGREES_IN_PART: Message("agrees in part"),
    Judgement.DIFFERS: Message("differs"),
    Judgement.CONTRADICTED: Message("contradicted"),
    Judgement.NOT_SUPPORTED: Message("not supported"),
}
ORDERINGS = {"less": Message("less"), "more": Message("more")}


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
    return f"{told} ±{language.marks.told(allowance)}"


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
        return f"{word}: {language.say(item.reason)}"
    if item.judgement is not Judgement.DIFFERS or item.difference is None:
        return word
    values = {"difference": _difference(item.difference, item, language)}
    if item.is_inside_interval:
        return language.say(Message("differs by {difference}, inside the interval", values))
    return language.say(Message("differs by {difference}", values))


def _difference(difference: float, item: Audited, language: Language) -> str:
    """How far the data are from what was stated, and in percent of it."""
    amount = _signed(difference, language)
    if item.unit == PERCENT:
        return language.say(Message("{amount} percentage points", {"amount": amount}))
    told = amount if item.unit == TIMES else _with_unit(amount, item.unit)
    if item.difference_percent is None:
        return told
    return f"{told} ({_signed(item.difference_percent, language)} %)"


def _alternative(figure: str, claimed: Scope, scope: Scope) -> Message:
    changed = [name for name, level in scope.one.items() if claimed.one[name] != level]
    one = _levels(scope.one, dict.fromkeys([*scope.apart, *changed]))
    if not scope.other:
        return Message("{figure} is {one}", {"figure": figure, "one": one})
    other = _levels(scope.other, scope.apart)
    values = {"figure": figure, "one": one, "other": other}
    return Message("{figure} is {one} against {other}", values)


def _levels(levels: Mapping[str, str], names: Iterable[str]) -> Series:
    return Series(tuple(f"{name} {levels[name]}" for name in names))


def _figure(stated: Stated, unit: str, language: Language) -> str:
    """A stated figure with its unit, its digits as they were printed."""
    numbers = [language.marks.told(number) for number in stated.numbers]
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
