"""An audit for people and for programs: each claim, what the data give, and what follows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.analyse.claims.audit import Judgement, audit
from prumo.analyse.claims.claim_scope import Scenarios
from prumo.analyse.money.costing import kept_costing
from prumo.message import Message
from prumo.report.audit_words import found_text, stated_text, verdict_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from prumo.analyse.claims.audit import Audited
    from prumo.analyse.claims.claim import Claims
    from prumo.report.language import Language
    from prumo.results.tables import Results
    from prumo.study import Level
    from prumo.study.document import SectionFile

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
        table.add_row(
            Text(item.claim.says),
            stated_text(item, language),
            found_text(item, language),
            _interval_text(item, language),
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


def _interval_text(item: Audited, language: Language) -> str:
    return language.interval(*(item.found.low, item.found.high) if item.found else (None, None))


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
