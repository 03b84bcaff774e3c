"""The report on a terminal: tables for people, plain when piped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message
from prumo.report.equality import verdict
from prumo.report.label import levels_label, metric_title
from prumo.report.profile import missing_profiles, profile_tables, terminal_table
from prumo.report.scenario_table import failure_groups
from prumo.report.sentence import sentences
from prumo.statistics.metric import metric_of

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.report.content import Report
    from prumo.report.language import Language
    from prumo.results.equality import Equality


def print_report(report: Report, console: Console, language: Language) -> None:
    """Sentences, a table per selected metric, warnings, failures."""
    console.print(Text(report.study_name, style="bold"))
    for sentence in sentences(report):
        console.print(Text(language.say(sentence)))
    for metric in report.selected:
        console.print()
        console.print(_metric_table(report, metric, language))
    if report.equality is not None and _tells(report, report.equality):
        console.print()
        console.print(Text(language.say(verdict(report.equality))))
    if tables := profile_tables(report, language):
        console.print()
        console.print(terminal_table(tables, language))
    for sentence in missing_profiles(report):
        console.print()
        console.print(Text(language.say(sentence)))
    _print_failures(report, console, language)
    _print_warnings(report, console, language)


def _tells(report: Report, equality: Equality) -> bool:
    """Whether equality says something here: without figures, only a difference does."""
    return report.main_metric is not None or not equality.holds


def _metric_table(report: Report, metric: str, language: Language) -> Table:
    known = metric_of(metric)
    told = language.told(metric_title(known.name))
    title = Text(f"{told} ({known.name})" if told != known.name else known.name)
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(language.say("scenario"))
    table.add_column(language.say("levels"), overflow="fold")
    for heading in _headings(report):
        table.add_column(language.say(heading), justify="right", no_wrap=True)
    for row in report.metric_summary(metric).iter_rows(named=True):
        scale = language.scale(row["mean"], row["unit"])
        interval = (
            language.say("single run")
            if row["ci_low"] is None
            else scale.interval(row["ci_low"], row["ci_high"])
        )
        table.add_row(
            row["scenario"],
            Text(levels_label(row, report.varying)),
            str(row["n"]),
            scale.text(row["mean"]),
            scale.number(row["standard_deviation"]),
            Text(interval),
            scale.number(row["median"]),
        )
    return table


def _headings(report: Report) -> tuple[Message, ...]:
    confidence = {"confidence": 100 * report.confidence}
    return (
        Message("n"),
        Message("mean"),
        Message("std. dev."),
        Message("{confidence:g} % interval", confidence),
        Message("median"),
    )


def _print_failures(report: Report, console: Console, language: Language) -> None:
    groups = failure_groups(report)
    if not groups:
        return
    console.print()
    console.print(Text(language.say("Failures"), style="bold"))
    for group in groups:
        reason = language.told(group.reason)
        console.print(
            Text.assemble(
                (language.say(group.words), "red"), f" ({', '.join(group.runs)}): {reason}"
            )
        )


def _print_warnings(report: Report, console: Console, language: Language) -> None:
    for warning in report.warnings:
        console.print()
        label = language.say("Warning") + ": "
        console.print(Text.assemble((label, "yellow"), language.say(warning.message)))
        console.print(Text(f"  {language.say(warning.advice)}", style="dim"))
    for item in report.unreadable:
        console.print(Text(f"  {item.reason}"))
