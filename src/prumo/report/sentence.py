"""What the figures say, in sentences that the data support and no more."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.message import Message, Series, counted, listed
from prumo.money.difference import by_work, work_factors
from prumo.quantity import Quantity
from prumo.report.cost_sentences import unpriced_sentences
from prumo.report.label import estimate_in, levels_label, metric_title, scenario_label
from prumo.statistics.metric import Better, metric_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.content import Report

NAMES_SHOWN = 6
# Ours: more bullets than that are a table, and the page has one.
WORKS_SHOWN = 6
RATIO_DIGITS = 3
Row = dict[str, Any]
SINGLE_RUNS = Message(
    "Some scenarios have a single run, so the uncertainty of this order is unknown."
)


def sentences(report: Report) -> list[Message]:
    """The result in a few sentences, the most important first."""
    said = [outcome(report)]
    if report.counts.imported:
        runs = counted(report.counts.imported, "run")
        said.append(Message("Not measured by Prumo but imported: {runs}.", {"runs": runs}))
    if report.main_metric is None:
        return said
    said += _standings(report)
    if report.cost is not None and report.cost_metric is not None:
        said += [*unpriced_sentences(report.cost.costing), *report.cost.machine_sentences()]
    effect = _largest_effect(report)
    return [*said, effect] if effect else said


def outcome(report: Report) -> Message:
    """How many runs finished and how the others ended."""
    total, finished = report.counts.planned, report.finished.height
    parts = [
        Message(
            "{finished} of {count} run finished",
            {"finished": finished, "count": total},
            "{finished} of {count} runs finished",
        )
    ]
    counts = report.failures.group_by("verdict", maintain_order=True).len()
    parts += [
        Message("{count} {verdict}", {"count": count, "verdict": verdict_words(verdict)})
        for verdict, count in counts.rows()
    ]
    if report.counts.unreadable:
        parts.append(Message("{count} unreadable", {"count": report.counts.unreadable}))
    if report.counts.unfinished:
        parts.append(Message("{count} without an end", {"count": report.counts.unfinished}))
    known = report.runs.height + report.counts.unreadable + report.counts.unfinished
    if total > known:
        parts.append(Message("{count} not begun", {"count": total - known}))
    return Message("{parts}.", {"parts": Series(tuple(parts), "; ")})


def verdict_words(verdict: str) -> Message:
    """A verdict as it stands in a sentence.

    >>> str(verdict_words("out_of_memory"))
    'out of memory'
    """
    return Message(verdict.replace("_", " "))


def _standings(report: Report) -> list[Message]:
    """Which scenario is best, among those that do the same work: others are no choice."""
    told = report.summary.filter(pl.col("metric").is_in(report.main_metrics))
    works = by_work(told, report.varying)
    if len(works) == 1:
        said = _standing(report, told, report.varying)
        return [one for place, one in enumerate(said) if one not in said[:place]]
    work = work_factors(report.varying)
    if len(works) > WORKS_SHOWN:
        return [_different_works(report, metric, work) for metric in report.main_metrics]
    ways = [factor for factor in report.varying if factor not in work]
    standings = [(same, _standing(report, same, ways)) for same in works]
    said = [
        Message(
            "Among the scenarios with {work}: {standing}",
            {
                "work": levels_label(same.row(0, named=True), work),
                "standing": Series(tuple(one for one in standing if one != SINGLE_RUNS), " "),
            },
        )
        for same, standing in standings
        if standing
    ]
    has_single = any(SINGLE_RUNS in standing for _, standing in standings)
    return [*said, SINGLE_RUNS] if has_single else said


def _standing(report: Report, summary: pl.DataFrame, factors: Sequence[str]) -> list[Message]:
    """The ends of the main metric and what is cheapest, among scenarios of one work."""
    said = []
    main: list[Row] = []
    for metric in report.main_metrics:
        rows = summary.filter(pl.col("metric") == metric).sort("mean").rows(named=True)
        title = metric_title(metric)
        if len(rows) == 1 or _follows(rows, main):
            value = _with_interval(rows[0], factors)
            said.append(Message("{metric}: {value}.", {"metric": title, "value": value}))
        elif rows and metric == report.main_metric:
            said += _ends(report, rows, factors)
        elif rows and rows[0]["mean"] != rows[-1]["mean"]:
            said += _best(report, title, rows, factors)
        main = main or rows
    return said


def _follows(rows: Sequence[Row], main: Sequence[Row]) -> bool:
    """Whether a metric tells nothing beyond the main one, as money does at one price for all."""
    means = {row["scenario"]: row["mean"] for row in main}
    if not rows or any(not means.get(row["scenario"]) for row in rows):
        return False
    ratios = [row["mean"] / means[row["scenario"]] for row in rows]
    return isclose(min(ratios), max(ratios), rel_tol=1e-9)


def _different_works(report: Report, metric: str, work: Sequence[str]) -> Message:
    rows = report.metric_summary(metric).sort("mean").rows(named=True)
    return Message(
        "{metric} goes from {least} to {most}; scenarios that differ in {factors} do different "
        "work, so none is the best of all.",
        {
            "metric": metric_title(metric),
            "least": _with_interval(rows[0], report.varying),
            "most": _with_interval(rows[-1], report.varying),
            "factors": listed(work),
        },
    )


def _ends(report: Report, rows: list[Row], factors: Sequence[str]) -> list[Message]:
    metric = metric_of(report.main_metric or "")
    if rows[0]["mean"] == rows[-1]["mean"]:
        value = Quantity(rows[0]["mean"], rows[0]["unit"])
        values = {"metric": metric_title(metric.name), "value": value}
        return [Message("{metric} is the same in every scenario: {value}.", values)]
    if metric.better is Better.UNKNOWN:
        least, most = (_with_interval(rows[place], factors) for place in (0, -1))
        values = {"metric": metric_title(metric.name), "least": least, "most": most}
        return [Message("{metric} goes from {least} to {most}.", values)]
    best_first = rows if metric.better is Better.LOWER else rows[::-1]
    best, worst = best_first[0], best_first[-1]
    return [
        *_best(report, metric_title(metric.name), best_first, factors),
        _worst(best, worst, _with_interval(worst, factors), metric.better),
    ]


def _best(
    report: Report, title: Message | str, best_first: Sequence[Row], factors: Sequence[str]
) -> list[Message]:
    best, *others = best_first
    values = {"metric": title, "best": _with_interval(best, factors)}
    return [Message("{metric}, best: {best}.", values), _sureness(report, best, others)]


def _sureness(report: Report, best: Row, others: Sequence[Row]) -> Message:
    """Whether the best is told apart from the others."""
    values = {"confidence": 100 * report.confidence, "best": best["scenario"]}
    if rivals := [row["scenario"] for row in others if _overlap(best, row)]:
        return Message(
            "The {confidence:g} % interval of {best} overlaps with that of {rivals}: the intervals "
            "alone cannot show which of them is best.",
            {**values, "rivals": _names(rivals)},
        )
    if any(row["ci_low"] is None for row in (best, *others)):
        return SINGLE_RUNS
    return Message(
        "The {confidence:g} % interval of {best} lies apart from that of every other scenario.",
        values,
    )


def _worst(best: Row, worst: Row, told: Message, better: Better) -> Message:
    low, high = sorted((best["mean"], worst["mean"]))
    if low <= 0:
        return Message("Worst: {worst}.", {"worst": told})
    return Message(
        "Worst: {worst}, {times} times the best."
        if better is Better.LOWER
        else "Worst: {worst}; the best is {times} times as much.",
        {"worst": told, "times": Quantity(high / low, digits=RATIO_DIGITS)},
    )


def _largest_effect(report: Report) -> Message | None:
    # With combinations missing, level means do not compare like with like: better to say nothing.
    if not report.balanced or len(report.compared) < 2:  # noqa: PLR2004 (one factor is no choice)
        return None
    ranges = []
    for factor in report.compared:
        effects = [effect for effect in report.effects if effect.factor == factor]
        effects.sort(key=lambda effect: effect.interval.mean)
        ranges.append((effects[0], effects[-1]))
    least, most = max(ranges, key=lambda ends: ends[1].interval.mean - ends[0].interval.mean)
    high, low = least.interval.high, most.interval.low
    if high is None or low is None or high >= low:
        return None
    unit = metric_of(report.main_metric or "").unit
    return Message(
        "Of the factors, {factor} changes the mean most: from {least} ({least_level}) to {most} "
        "({most_level}).",
        {
            "factor": least.factor,
            "least": Quantity(least.interval.mean, unit),
            "least_level": least.level,
            "most": Quantity(most.interval.mean, unit),
            "most_level": most.level,
        },
    )


def _overlap(one: Row, other: Row) -> bool:
    if one["ci_low"] is None or other["ci_low"] is None:
        return False
    return bool(one["ci_low"] <= other["ci_high"] and other["ci_low"] <= one["ci_high"])


def _with_interval(row: Row, factors: Sequence[str]) -> Message:
    return Message(
        "{scenario} at {value} (a single run, no interval)"
        if row["ci_low"] is None
        else "{scenario} at {value}",
        {"scenario": scenario_label(row, factors), "value": estimate_in(row)},
    )


def _names(names: list[str]) -> Message | str:
    if len(names) > NAMES_SHOWN:
        shown = Series(tuple(names[:NAMES_SHOWN]))
        return Message(
            "{names} and {count} others", {"names": shown, "count": len(names) - NAMES_SHOWN}
        )
    if len(names) == 1:
        return names[0]
    return Message("{names} and {last}", {"names": Series(tuple(names[:-1])), "last": names[-1]})
