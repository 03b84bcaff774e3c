"""The answer of `prumo compare`: for the terminal, for programs, and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from prumo.errors import InputError, did_you_mean
from prumo.message import Message
from prumo.money.cost import kept_costing
from prumo.money.study_prices import read_prices
from prumo.quantity import MISSING
from prumo.report.comparison_sentences import (
    comparison_remarks,
    comparison_sentences,
    level_name,
    ratio_digits,
    verdict_word,
)
from prumo.report.content import headline_metrics
from prumo.report.cost_sentences import cost_remarks, source_sentences
from prumo.report.find_warnings import unproven_message
from prumo.report.label import levels_label
from prumo.results.columns import free_name
from prumo.statistics.comparison import compare
from prumo.statistics.equality import unproven
from prumo.statistics.interval import geometric_mean
from prumo.statistics.metric import Kind, metric_of
from prumo.statistics.summary import varying
from prumo.study import level_text

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.money.cost import Costing
    from prumo.report.language import Language
    from prumo.results.tables import Results
    from prumo.statistics.comparison import Comparison, LevelComparison, MatchedComparison, Verdict
    from prumo.statistics.interval import Ratio


@dataclass(frozen=True)
class Answer:
    """A comparison with what surrounds it."""

    study_name: str
    comparison: Comparison
    varying: tuple[str, ...]
    """The other factors that have several levels: those that tell combinations apart."""
    sentences: tuple[Message, ...]
    remarks: tuple[Message, ...]


def compare_results(  # noqa: PLR0913 (one argument per option of the command)
    results: Results,
    factor: str,
    metric: str | None,
    confidence: float,
    *,
    against: str | None = None,
    bootstrap: bool = False,
) -> Answer:
    """Compare the levels of a factor; in the main metric where none is named."""
    costing = kept_costing(results)
    runs = costing.runs
    chosen = _metric(results, costing, metric)
    comparison = compare(
        runs,
        results.factors,
        factor,
        chosen,
        confidence,
        against=against,
        bootstrap=bootstrap,
    )
    apart = tuple(name for name in varying(runs, results.factors) if name != factor)
    remarks = [*comparison_remarks(comparison)]
    if factor == "framework" and (networks := unproven(results.records, results.equality)):
        remarks.append(unproven_message(networks))
    if metric_of(chosen).kind is Kind.MONEY:
        remarks += [*source_sentences(costing), *cost_remarks(costing)]
    sentences = comparison_sentences(comparison)
    return Answer(results.study_name, comparison, apart, tuple(sentences), tuple(remarks))


def print_answer(answer: Answer, console: Console, language: Language) -> None:
    """A sentence and a table per pair of levels, then the remarks."""
    for pair, sentence in zip(answer.comparison.pairs, answer.sentences, strict=True):
        console.print(Text(language.say(sentence)))
        if pair.matched:
            console.print(_pair_table(answer, pair, language))
    for remark in answer.remarks:
        console.print(Text(language.say(remark), style="dim"))


def answer_document(answer: Answer, language: Language) -> dict[str, Any]:
    """Everything the answer says, ready for JSON."""
    comparison = answer.comparison
    return {
        "study": answer.study_name,
        "factor": comparison.factor,
        "metric": comparison.metric,
        "confidence": comparison.confidence,
        "sentences": [language.say(sentence) for sentence in answer.sentences],
        "remarks": [language.say(remark) for remark in answer.remarks],
        "pairs": [_pair_document(comparison.metric, pair) for pair in comparison.pairs],
    }


def answer_table(answer: Answer) -> pl.DataFrame:
    """A row per pair of levels and combination."""
    rows = [
        _flat(answer.comparison.metric, pair, matched)
        for pair in answer.comparison.pairs
        for matched in pair.matched
    ]
    if not rows:
        factor = answer.comparison.factor
        raise InputError(
            f"there is no table to write: no two levels of {factor} have figures at the same "
            "levels of the other factors"
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _metric(results: Results, costing: Costing, asked: str | None) -> str:
    finished = costing.runs.filter(pl.col("verdict") == "finished")
    known = dict.fromkeys((*results.metrics, *costing.metrics))
    measured = [name for name in known if finished[name].count()]
    if not measured:
        raise InputError(f"{results.path} has no finished run with figures to compare")
    if asked is None:
        return headline_metrics(results, measured)[0]
    is_money = metric_of(asked).kind is Kind.MONEY
    if asked not in measured and is_money and read_prices(results.path) is None:
        raise InputError(
            f"these results have no prices, so no run has {asked}; name one with:  "
            f"prumo reprice {results.path} --price PROVIDER/SKU@REGION"
        )
    if asked not in measured:
        raise InputError(f"no run has a metric '{asked}': {did_you_mean(asked, measured)}")
    return asked


def _pair_table(answer: Answer, pair: LevelComparison, language: Language) -> Table:
    comparison = answer.comparison
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(language.say("combination"), overflow="fold")
    interval = Message("{confidence:g} % interval", {"confidence": 100 * comparison.confidence})
    level, other = (level_name(comparison.factor, name) for name in (pair.level, pair.other))
    # The report's means are arithmetic, so the reader must see that these are not.
    mean = language.say("geometric mean")
    numbers = [
        f"{level}\n{mean}",
        f"{other}\n{mean}",
        f"{level}\n/ {other}",
        language.say(interval),
        language.say("p (Holm)"),
        language.say("Cliff's δ"),
    ]
    for heading in numbers:
        # A level may look like Rich's markup.
        table.add_column(Text(heading), justify="right")
    table.add_column(Text(f"{level}\n{language.say('verdict')}"))
    for matched in pair.matched:
        table.add_row(*_matched_cells(answer, matched, language))
    if len(pair.matched) > 1 and pair.ratio is not None:
        number, ends, p_value, word = _judged(comparison.metric, pair, pair.ratio, language)
        table.add_section()
        table.add_row(language.say("on average"), "", "", number, Text(ends), p_value, "", word)
    return table


def _matched_cells(answer: Answer, matched: MatchedComparison, language: Language) -> list[Text]:
    comparison = answer.comparison
    metric = comparison.metric
    number, interval, p_value, word = _judged(metric, matched, matched.ratio, language)
    cells = [
        levels_label(matched.levels, answer.varying) or MISSING,
        _mean(matched.sample.values, comparison, language),
        _mean(matched.other_sample.values, comparison, language),
        number,
        interval,
        p_value,
        language.formatted(matched.cliffs_delta, "+.2f"),
        word,
    ]
    return [Text(cell) for cell in cells]


def _mean(values: tuple[float, ...], comparison: Comparison, language: Language) -> str:
    mean = geometric_mean(values, comparison.confidence).value
    return f"{language.quantity(mean, metric_of(comparison.metric).unit)} (n={len(values)})"


def _judged(
    metric: str, found: LevelComparison | MatchedComparison, ratio: Ratio, language: Language
) -> tuple[str, str, str, str]:
    """A ratio, its interval, its p value and what that means, as cells."""
    digits = ratio_digits(ratio.value)
    return (
        language.number(ratio.value, digits),
        language.interval(ratio.low, ratio.high, digits),
        language.p_value(found.adjusted_p),
        language.say(verdict_word(metric, found.verdict)),
    )


def _pair_document(metric: str, pair: LevelComparison) -> dict[str, Any]:
    return {
        "level": pair.level,
        "against": pair.other,
        **_ratio_document(pair.ratio),
        "p_holm": pair.adjusted_p,
        "verdict": _word(metric, pair.verdict),
        "unmatched": pair.unmatched,
        "combinations": [
            {"levels": dict(matched.levels), **_matched_document(metric, matched)}
            for matched in pair.matched
        ],
    }


def _flat(metric: str, pair: LevelComparison, matched: MatchedComparison) -> dict[str, Any]:
    sides = {"level": pair.level, "against": pair.other}
    figures = _matched_document(metric, matched)
    taken = {*sides, *figures}
    levels = {
        free_name(name, "factor", taken): None if level is None else level_text(level)
        for name, level in matched.levels.items()
    }
    return {**sides, **levels, **figures}


def _matched_document(metric: str, matched: MatchedComparison) -> dict[str, Any]:
    sample, other = matched.sample, matched.other_sample
    return {
        "scenario": sample.scenario,
        "against_scenario": other.scenario,
        "n": len(sample.values),
        "against_n": len(other.values),
        "geometric_mean": geometric_mean(sample.values).value,
        "against_geometric_mean": geometric_mean(other.values).value,
        **_ratio_document(matched.ratio),
        "p_holm": matched.adjusted_p,
        "cliffs_delta": matched.cliffs_delta,
        "verdict": _word(metric, matched.verdict),
    }


def _ratio_document(ratio: Ratio | None) -> dict[str, float | None]:
    if ratio is None:
        return {"ratio": None, "ci_low": None, "ci_high": None, "p": None}
    return {"ratio": ratio.value, "ci_low": ratio.low, "ci_high": ratio.high, "p": ratio.p_value}


_CODES = {"no clear difference": "not_told_apart", "more expensive": "dearer"}


def _word(metric: str, verdict: Verdict) -> str:
    """The code of a verdict in JSON and CSV, which stays when the words for people change."""
    word = str(verdict_word(metric, verdict))
    return _CODES.get(word, word.replace(" ", "_"))
