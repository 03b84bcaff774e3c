"""The report on a terminal: tables for people, plain when piped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.analyse.metric import metric_of
from prumo.report.equality import verdict
from prumo.report.failure import failure_groups
from prumo.report.label import levels_label
from prumo.report.number import scale_of
from prumo.report.profile import missing_profiles, profile_tables, terminal_table
from prumo.report.sentence import sentences

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.report.content import Report
    from prumo.results.equality import Equality


def print_report(report: Report, console: Console) -> None:
    """Sentences, a table per selected metric, warnings, failures."""
    console.print(Text(report.study_name, style="bold"))
    for sentence in sentences(report):
        console.print(Text(sentence))
    for metric in report.selected:
        console.print()
        console.print(_metric_table(report, metric))
    if report.equality is not None and _tells(report, report.equality):
        console.print()
        console.print(Text(verdict(report.equality)))
    if tables := profile_tables(report):
        console.print()
        console.print(terminal_table(tables))
    for sentence in missing_profiles(report):
        console.print()
        console.print(Text(sentence))
    _print_failures(report, console)
    _print_warnings(report, console)


def _tells(report: Report, equality: Equality) -> bool:
    """Whether equality says something here: without figures, only a difference does."""
    return report.main_metric is not None or not equality.holds


def _metric_table(report: Report, metric: str) -> Table:
    known = metric_of(metric)
    title = Text(f"{known.title} ({known.name})" if known.title != known.name else known.name)
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("scenario")
    table.add_column("levels", overflow="fold")
    for heading in ("n", "mean", "std. dev.", f"{100 * report.confidence:g} % interval", "median"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in report.metric_summary(metric).iter_rows(named=True):
        scale = scale_of(row["mean"], row["unit"])
        interval = (
            "single run" if row["ci_low"] is None else scale.interval(row["ci_low"], row["ci_high"])
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


def _print_failures(report: Report, console: Console) -> None:
    groups = failure_groups(report)
    if not groups:
        return
    console.print()
    console.print(Text("Failures", style="bold"))
    for group in groups:
        console.print(
            Text.assemble((group.words, "red"), f" ({', '.join(group.runs)}): {group.reason}")
        )


def _print_warnings(report: Report, console: Console) -> None:
    for warning in report.warnings:
        console.print()
        console.print(Text.assemble(("Warning: ", "yellow"), warning.message))
        console.print(Text(f"  {warning.advice}", style="dim"))
    for item in report.unreadable:
        console.print(Text(f"  {item.reason}"))
