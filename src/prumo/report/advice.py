"""Which configuration to choose: put together, on a terminal, and as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from prumo.analyse.effect import varying
from prumo.analyse.money.advice import advise
from prumo.analyse.money.advice_sentence import Wording, advice_sentences
from prumo.analyse.money.cost import cost_metric
from prumo.analyse.money.machine_ratio import machine_sentences
from prumo.analyse.money.same_work import by_work, work_factors
from prumo.message import Message
from prumo.report.label import levels_label, scenario_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from rich.console import Console

    from prumo.analyse.interval import Interval
    from prumo.analyse.money.advice import Advice
    from prumo.analyse.money.candidate import Candidate, Need
    from prumo.analyse.money.costing import Costing
    from prumo.report.language import Language

NO_PRICE = Message(
    "No price is known of these runs, so this is about time alone. --price tries one, and "
    "`prumo reprice` keeps it."
)


@dataclass(frozen=True)
class Answer:
    """The advice for one kind of work."""

    work: str
    """What is trained; empty where the study asks about one work only."""
    advice: Advice
    sentences: tuple[Message, ...]


@dataclass(frozen=True)
class AdviceReport:
    """Everything that is said."""

    answers: tuple[Answer, ...]
    currency: str | None
    remarks: tuple[Message, ...]
    """About all answers."""
    sources: tuple[Message, ...]
    """Where the prices come from."""


def advice_report(
    costing: Costing,
    factors: Sequence[str],
    need: Need,
    currency: str | None,
    given: Sequence[str] = (),
) -> AdviceReport:
    """Answer from runs and their amounts in a currency; None where there are no prices.

    Factors that are `given`, as networks and data sets always are, are no choice.
    """
    money = cost_metric(currency, costing.settings) if currency else None
    apart = varying(costing.runs, factors)
    work = work_factors(apart, given)
    choices = [factor for factor in apart if factor not in work]
    answers = []
    for runs in by_work(costing.runs, apart, given):
        advice = advise(runs, costing.time_metric, money, need)
        sentences = advice_sentences(advice, Wording(_labels(runs, choices), currency or ""))
        title = levels_label(runs.row(0, named=True), work) if runs.height else ""
        answers.append(Answer(title, advice, tuple(sentences)))
    remarks = machine_sentences(costing, factors, money, need.confidence)
    remarks += costing.remarks() if money else [*costing.notes, NO_PRICE]
    return AdviceReport(tuple(answers), currency, tuple(remarks), tuple(costing.sources()))


def print_advice(report: AdviceReport, console: Console, language: Language) -> None:
    """Every answer, its choice first and bold, then what holds for all and the prices."""
    for answer in report.answers:
        if answer.work:
            console.print(Text(language.say(Message("For {work}:", {"work": answer.work}))))
        for place, sentence in enumerate(answer.sentences):
            console.print(Text(language.say(sentence), style="" if place else "bold"))
        console.print()
    for remark in report.remarks:
        console.print(Text(language.say(remark)))
    for source in report.sources:
        console.print(Text(language.say(source), style="dim"))


def advice_document(report: AdviceReport, language: Language) -> dict[str, Any]:
    """Everything that is said, ready for JSON."""
    return {
        "currency": report.currency,
        "answers": [_answer(answer, language) for answer in report.answers],
        "remarks": [language.say(remark) for remark in report.remarks],
        "sources": [language.say(source) for source in report.sources],
    }


def _labels(runs: pl.DataFrame, factors: Sequence[str]) -> dict[str, str]:
    rows = runs.unique("scenario", maintain_order=True).iter_rows(named=True)
    return {row["scenario"]: scenario_label(row, factors) for row in rows}


def _answer(answer: Answer, language: Language) -> dict[str, Any]:
    advice = answer.advice
    need, runner_up = advice.need, advice.runner_up
    return {
        "work": answer.work or None,
        "strategy": need.strategy.value,
        "deadline_seconds": need.deadline_seconds,
        "budget": need.budget,
        "choice": advice.choice.scenario if advice.choice else None,
        "keeps_surely": advice.keeps_surely,
        "runner_up": runner_up.candidate.scenario if runner_up else None,
        "chance_better": runner_up.chance_better if runner_up else None,
        "chance_best": advice.chance_best,
        "ranking": [_candidate(candidate) for candidate in advice.ranking],
        "others": [_candidate(candidate) for candidate in advice.others],
        "unpriced": list(advice.unpriced),
        "sentences": [language.say(sentence) for sentence in answer.sentences],
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "scenario": candidate.scenario,
        "seconds": _interval(candidate.seconds),
        "cost": _interval(candidate.cost) if candidate.cost else None,
        "score": candidate.score,
        "keeps_deadline": candidate.keeps_deadline,
        "keeps_budget": candidate.keeps_budget,
    }


def _interval(interval: Interval) -> dict[str, Any]:
    return {"n": interval.n, "mean": interval.mean, "low": interval.low, "high": interval.high}
