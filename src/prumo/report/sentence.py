"""What the figures say, in sentences that the data support and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.analyse.metric import Better, metric_of
from prumo.analyse.wording import counted
from prumo.report.label import scenario_label
from prumo.report.number import digits, scale_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.analyse.effect import LevelMean
    from prumo.report.content import Report

NAMES_SHOWN = 6
Row = dict[str, Any]


def sentences(report: Report) -> list[str]:
    """The result in a few sentences, the most important first."""
    said = [outcome(report)]
    if report.imported_runs:
        runs = counted(report.imported_runs, "run")
        said.append(f"Not measured by Prumo but imported from logs: {runs}.")
    if report.main_metric is None:
        return said
    rows = report.metric_summary(report.main_metric).sort("mean").rows(named=True)
    if len(rows) == 1:
        return [*said, f"{_title(report)}: {_with_interval(rows[0], report)}."]
    said += _ends(report, rows)
    effect = _largest_effect(report)
    return [*said, effect] if effect else said


def outcome(report: Report) -> str:
    """How many runs finished and how the others ended."""
    total, finished = report.planned_runs, report.finished.height
    parts = [f"{finished} of {total} {'run' if total == 1 else 'runs'} finished"]
    counts = report.failures.group_by("verdict", maintain_order=True).len()
    parts += [f"{count} {verdict_words(verdict)}" for verdict, count in counts.rows()]
    if report.unreadable_runs:
        parts.append(f"{report.unreadable_runs} unreadable")
    if report.unfinished:
        parts.append(f"{len(report.unfinished)} without an end")
    known = report.runs.height + report.unreadable_runs + len(report.unfinished)
    if total > known:
        parts.append(f"{total - known} not begun")
    return "; ".join(parts) + "."


def verdict_words(verdict: str) -> str:
    """A verdict as it stands in a sentence.

    >>> verdict_words("out_of_memory")
    'out of memory'
    """
    return verdict.replace("_", " ")


def _ends(report: Report, rows: list[Row]) -> list[str]:
    better = metric_of(report.main_metric or "").better
    if better is Better.UNKNOWN:
        least, most = (_with_interval(rows[place], report) for place in (0, -1))
        return [f"{_title(report)} goes from {least} to {most}."]
    best_first = rows if better is Better.LOWER else rows[::-1]
    best, worst = best_first[0], best_first[-1]
    said = [f"Best {_title(report).lower()}: {_with_interval(best, report)}."]
    rivals = [row for row in best_first[1:] if _overlap(best, row)]
    unsure = [row for row in (best, *best_first[1:]) if row["ci_low"] is None]
    if rivals:
        said.append(
            f"The {_interval_word(report)} of {best['scenario']} overlaps with that of "
            f"{_names([row['scenario'] for row in rivals])}: these runs do not tell which of them "
            "is best."
        )
    elif unsure:
        said.append("Some scenarios have a single run, so how sure this order is cannot be told.")
    elif best_first[1:]:
        said.append(
            f"The {_interval_word(report)} of {best['scenario']} lies apart from that of every "
            "other scenario."
        )
    said.append(f"Worst: {_with_interval(worst, report)}{_times(best, worst, better)}.")
    return said


def _largest_effect(report: Report) -> str | None:
    # With combinations missing, level means do not compare like with like: better to say nothing.
    if not report.balanced or len(report.compared) < 2:  # noqa: PLR2004 (one factor is no choice)
        return None
    factor, least, most = max(
        (_range_of(report.effects, factor) for factor in report.compared),
        key=lambda item: item[2].interval.mean - item[1].interval.mean,
    )
    if _apart(least, most) is not True:
        return None
    scale = scale_of(most.interval.mean, metric_of(report.main_metric or "").unit)
    return (
        f"Of the factors, {factor} changes the mean most: from "
        f"{scale.text(least.interval.mean)} ({least.level}) to "
        f"{scale.text(most.interval.mean)} ({most.level})."
    )


def _range_of(effects: Sequence[LevelMean], factor: str) -> tuple[str, LevelMean, LevelMean]:
    levels = sorted(
        (effect for effect in effects if effect.factor == factor),
        key=lambda effect: effect.interval.mean,
    )
    return factor, levels[0], levels[-1]


def _apart(least: LevelMean, most: LevelMean) -> bool | None:
    if least.interval.high is None or most.interval.low is None:
        return None
    return least.interval.high < most.interval.low


def _overlap(one: Row, other: Row) -> bool:
    if one["ci_low"] is None or other["ci_low"] is None:
        return False
    return bool(one["ci_low"] <= other["ci_high"] and other["ci_low"] <= one["ci_high"])


def _with_interval(row: Row, report: Report) -> str:
    scale = scale_of(row["mean"], row["unit"])
    label = scenario_label(row, report.varying)
    if row["ci_low"] is None:
        return f"{label} at {scale.text(row['mean'])} (a single run, no interval)"
    interval = scale.interval(row["ci_low"], row["ci_high"])
    return f"{label} at {scale.text(row['mean'])} {interval}"


def _times(best: Row, worst: Row, better: Better) -> str:
    low, high = sorted((best["mean"], worst["mean"]))
    if low <= 0 or high == low:
        return ""
    if better is Better.LOWER:
        return f", {digits(worst['mean'] / best['mean'], 3)} times the best"
    return f"; the best is {digits(best['mean'] / worst['mean'], 3)} times as much"


def _title(report: Report) -> str:
    return metric_of(report.main_metric or "").title


def _interval_word(report: Report) -> str:
    return f"{100 * report.confidence:g} % interval"


def _names(names: list[str]) -> str:
    if len(names) > NAMES_SHOWN:
        return f"{', '.join(names[:NAMES_SHOWN])} and {len(names) - NAMES_SHOWN} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
