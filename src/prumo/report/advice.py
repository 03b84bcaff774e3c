"""Which configuration to choose: the answer put together, printed, as JSON, and in sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

from prumo.message import Message, Series, listed
from prumo.money.advice import advise
from prumo.money.cost import cost_metric
from prumo.money.difference import Aspect, by_work, work_factors
from prumo.money.terms import Strategy
from prumo.quantity import Estimate, Quantity
from prumo.report.cost_sentences import (
    chance,
    cost_remarks,
    difference_message,
    machine_sentences,
    source_sentences,
    weakening_remarks,
)
from prumo.report.label import levels_label, scenario_label
from prumo.statistics.summary import varying

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from prumo.money.advice import Advice, Candidate, Need, RunnerUp
    from prumo.money.cost import Costing
    from prumo.report.language import Language
    from prumo.statistics.interval import Interval

TIES = {
    "free": "Several cost nothing, as each ends before the first minute that is billed; the "
    "fastest of them is {name}: {figures}.",
    "alike": "Several cost the least alike; the fastest of them is {name}: {figures}.",
}
CHOICE = {
    Strategy.COST: "The cheapest is {name}: {figures}.",
    Strategy.SPEED: "The fastest is {name}: {figures}.",
    Strategy.BALANCED: "The best balance of cost and time, half each, is {name}: {figures}.",
}

# Stands for a space at which no line may end.
GLUE = "\0"

NO_PRICE = Message(
    "No price is known of these runs, so this is about time alone. --price tries one, and "
    "`prumo reprice` keeps it."
)


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
        scenarios = runs.unique("scenario", maintain_order=True).iter_rows(named=True)
        labels = {row["scenario"]: scenario_label(row, choices) for row in scenarios}
        sentences = advice_sentences(advice, Wording(labels, currency or ""))
        title = levels_label(runs.row(0, named=True), work) if runs.height else ""
        answers.append(Answer(title, advice, tuple(sentences)))
    remarks = machine_sentences(costing, factors, money, need.confidence)
    remarks += cost_remarks(costing) if money else [*weakening_remarks(costing), NO_PRICE]
    return AdviceReport(tuple(answers), currency, tuple(remarks), tuple(source_sentences(costing)))


def print_advice(report: AdviceReport, console: Console, language: Language) -> None:
    """Every answer, its choice first and bold, then what holds for all and the prices."""
    for answer in report.answers:
        print_sentences(answer.work, answer.sentences, console, language)
        console.print()
    for remark in report.remarks:
        console.print(Text(language.say(remark)))
    for source in report.sources:
        console.print(Text(language.say(source), style="dim"))


def print_sentences(
    work: str, sentences: Sequence[Message], console: Console, language: Language
) -> None:
    """One answer, with the work that it is about where there are several; the choice is bold."""
    if work:
        console.print(Text(language.say(Message("For {work}:", {"work": work}))))
    for place, sentence in enumerate(sentences):
        for line in wrapped(language.say(sentence), console.width):
            console.print(Text(line, style="" if place else "bold"))


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text; a number stays beside what follows it, such as its unit.

    >>> wrapped("chance to be cheaper: less than 0.1 %.", 36)
    ['chance to be cheaper: less than', '0.1 %.']
    """
    glued = re.sub(r"(?<=\d) (?=\S)", GLUE, text)
    lines = wrap(glued, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(GLUE, " ") for line in lines]


def advice_document(report: AdviceReport, language: Language) -> dict[str, Any]:
    """Everything that is said, ready for JSON."""
    return {
        "currency": report.currency,
        "answers": [_answer(answer, language) for answer in report.answers],
        "remarks": [language.say(remark) for remark in report.remarks],
        "sources": [language.say(source) for source in report.sources],
    }


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


def advice_sentences(advice: Advice, wording: Wording) -> list[Message]:
    """The choice, the runner-up, by how much and how reliably, and what misses the limits."""
    said = [_choice(advice, wording), *_limits(advice, wording)]
    if advice.runner_up is not None:
        said += _runner_up(advice, advice.runner_up, wording)
    elif advice.choice is not None and advice.others:
        said.append(Message("No other configuration meets the limits as reliably."))
    said += _better_but_unsure(advice, wording)
    said += _misses(advice, wording)
    if advice.unpriced:
        said.append(
            Message(
                "Left out, as not all of their runs have a cost in {currency}: {names}.",
                {"currency": wording.currency, "names": listed(advice.unpriced)},
            )
        )
    return said


def _choice(advice: Advice, wording: Wording) -> Message:
    choice = advice.choice
    if choice is not None:
        is_free = choice.cost is not None and not choice.cost.mean
        return Message(
            TIES["free" if is_free else "alike"]
            if _is_tie(advice)
            else CHOICE[advice.need.strategy],
            wording.values(choice),
        )
    if advice.others:
        return Message(
            "No configuration is likely to meet the limits. The closest is {name}: {figures}.",
            wording.values(advice.others[0]),
        )
    return Message(
        "There is no cost in {currency} to choose by."
        if advice.unpriced
        else "No scenario has finished runs to choose from.",
        {"currency": wording.currency},
    )


def _is_tie(advice: Advice) -> bool:
    """Whether the choice is no cheaper than the runner-up, where the cheapest is asked for."""
    if advice.need.strategy is not Strategy.COST or advice.runner_up is None:
        return False
    return any(one.is_same for one in advice.runner_up.differences if one.aspect is Aspect.COST)


def _limits(advice: Advice, wording: Wording) -> Iterator[Message]:
    """How reliably the choice meets deadline and budget."""
    choice = advice.choice
    if choice is None:
        return
    if choice.is_single and advice.need.is_limited:
        yield Message(
            "It met the limits in its only run; one run cannot show how reliable that is."
        )
    elif not advice.keeps_surely:
        yield Message("No configuration reliably meets the limits.")
    for limit, chance_name in _asked(advice.need, wording):
        kept = getattr(choice, chance_name)
        if kept is not None:
            yield Message(
                "Its next run meets {limit} with a probability of {chance}.",
                {"limit": limit, "chance": chance(kept)},
            )


def _asked(need: Need, wording: Wording) -> Iterator[tuple[Message, str]]:
    """Every limit in words, and under which name a candidate has its chance to keep it."""
    if need.deadline_seconds is not None:
        deadline = Quantity(need.deadline_seconds, "s")
        yield Message("the deadline of {time}", {"time": deadline}), "keeps_deadline"
    if need.budget is not None:
        amount = Quantity(need.budget, wording.currency)
        yield Message("the budget of {amount}", {"amount": amount}), "keeps_budget"


def _runner_up(advice: Advice, runner_up: RunnerUp, wording: Wording) -> Iterator[Message]:
    yield Message("The runner-up is {name}: {figures}.", wording.values(runner_up.candidate))
    yield from map(difference_message, runner_up.differences)
    if advice.need.strategy is Strategy.BALANCED and runner_up.chance_better is not None:
        yield Message(
            "The chance that {one} is truly the better balance of the two is {chance}.",
            {"one": advice.ranking[0].scenario, "chance": chance(runner_up.chance_better)},
        )
    if len(advice.ranking) > 2 and advice.chance_best is not None:  # noqa: PLR2004 (choice, runner-up)
        yield Message(
            "The chance that {one} is truly the best of all {count} is {chance}.",
            {
                "one": advice.ranking[0].scenario,
                "count": len(advice.ranking),
                "chance": chance(advice.chance_best),
            },
        )


def _better_but_unsure(advice: Advice, wording: Wording) -> Iterator[Message]:
    """What would be better by the strategy and meets the limits less reliably."""
    for other in advice.others if advice.choice is not None else ():
        if other.score < advice.ranking[0].score and (other.keeps_all or 0.0) > _missed(advice):
            yield Message(
                "{name} would be better by this measure, {figures}, but its probability of "
                "meeting the limits is only {chance}.",
                {**wording.values(other), "chance": chance(other.keeps_all or 0.0)},
            )


def _misses(advice: Advice, wording: Wording) -> Iterator[Message]:
    """Which configurations miss a limit, and with what probability."""
    for limit, chance_name in _asked(advice.need, wording):
        chances = [(one.scenario, getattr(one, chance_name)) for one in advice.others]
        missed = [name for name, kept in chances if kept is not None and kept <= _missed(advice)]
        in_doubt = [
            Message("{name} ({chance})", {"name": name, "chance": chance(kept)})
            for name, kept in chances
            if kept is not None and _missed(advice) < kept < advice.need.confidence
        ]
        if missed:
            yield Message(
                "Over {limit} with at least {chance} probability: {names}.",
                {"limit": limit, "chance": chance(advice.need.confidence), "names": listed(missed)},
            )
        if in_doubt:
            yield Message(
                "May exceed {limit}; probability of meeting it: {names}.",
                {"limit": limit, "names": listed(in_doubt)},
            )
    if single := [one.scenario for one in advice.others if one.is_single]:
        yield Message(
            "Over the limit in their only run (uncertain): {names}.",
            {"names": listed(single)},
        )


def _missed(advice: Advice) -> float:
    """So unlikely it must be to keep a limit before it is said to be missed."""
    return 1 - advice.need.confidence


def _estimate(interval: Interval, unit: str) -> Estimate | Message:
    value = Estimate(interval.mean, interval.low, interval.high, unit)
    return Message("{value} (a single run)", {"value": value}) if interval.low is None else value


@dataclass(frozen=True)
class Wording:
    """How scenarios and amounts are called."""

    labels: Mapping[str, str]
    """Scenario → its name with its levels."""
    currency: str

    def values(self, candidate: Candidate) -> dict[str, object]:
        """The name of a candidate with its levels, and its time and cost with their intervals."""
        figures = [_estimate(candidate.seconds, "s")]
        if candidate.cost is not None:
            figures.append(_estimate(candidate.cost, self.currency))
        name = self.labels.get(candidate.scenario, candidate.scenario)
        return {"name": name, "figures": Series(tuple(figures))}
