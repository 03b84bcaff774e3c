"""The scenarios and runs of a study: for a terminal, a pipe, and programs."""

from __future__ import annotations

import csv
import sys
from collections import deque
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import click

from prumo.study import level_text, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prumo.study import Plan, Scenario, Study

_TIMES = "\N{MULTIPLICATION SIGN}"
_ENDS = 50
_MOST_IN_TABLE = 1_000


def print_plan_csv(study: Study) -> None:
    """A row per scenario."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["scenario", *study.factors])
    writer.writerows(map(_row, study.scenarios()))


def plan_document(study: Study) -> dict[str, Any]:
    """Everything that is planned, ready for programs."""
    plan = plan_of(study)
    return {
        "study": study.name,
        "factors": study.factors,
        "scenarios": [{"scenario": s.name, **s.factors} for s in study.scenarios()],
        "replications": [plan.replications_minimum, plan.replications_maximum],
        "runs": plan.runs,
        "runs_minimum": plan.runs_minimum,
        "order": {"kind": study.order.kind, "seed": study.order.seed},
        "remarks": plan.remarks,
    }


def print_plan(study: Study, *, show_all: bool) -> None:
    """A row per scenario, of a large study the first and the last, and what is remarkable."""
    plan = plan_of(study)
    ends = plan.scenarios if show_all else _ENDS
    rows = _shown_rows(study.scenarios(), plan.scenarios, ends)
    title = f"{study.name}: {_title(plan)}"
    if sys.stdout.isatty() and min(plan.scenarios, 2 * ends) <= _MOST_IN_TABLE:
        _print_rich(title, ["scenario", *study.factors], rows)
    else:
        click.echo(title)
        _print_aligned(study, plan, rows)
    if plan.scenarios > 2 * ends:
        click.echo(f"… {plan.scenarios - 2 * ends} more scenarios; --all shows them")
    for remark in (f"{study.design.kind} design, {study.order.kind} order", *plan.remarks):
        click.echo(remark)


def _title(plan: Plan) -> str:
    replications = _range(plan.replications_minimum, plan.replications_maximum)
    runs = _range(plan.runs_minimum, plan.runs)
    return f"{plan.scenarios} scenarios {_TIMES} {replications} replications = {runs} runs"


def _range(least: int, most: int) -> str:
    return str(most) if least == most else f"{least}..{most}"


def _shown_rows(scenarios: Iterator[Scenario], count: int, ends: int) -> Iterator[list[str]]:
    """The first and the last rows, and a row of dots where others were left out."""
    yield from map(_row, islice(scenarios, ends))
    last = deque(map(_row, scenarios), maxlen=ends)
    if count > 2 * ends:
        yield ["…"] * len(last[0])
    yield from last


def _row(scenario: Scenario) -> list[str]:
    return [scenario.name, *map(level_text, scenario.factors.values())]


def _print_rich(title: str, header: list[str], rows: Iterable[list[str]]) -> None:
    from rich.console import Console  # noqa: PLC0415 (a pipe needs no tables)
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(*header, title=escape(title))
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)


def _print_aligned(study: Study, plan: Plan, rows: Iterable[list[str]]) -> None:
    """Print columns whose widths follow from the levels, so that rows need not be kept."""
    widths = [max(len("scenario"), len(f"C{plan.scenarios}"))]
    widths += [
        max(len(name), *(len(level_text(level)) for level in levels))
        for name, levels in study.factors.items()
    ]
    for row in chain([["scenario", *study.factors]], rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        click.echo("  ".join(cells).rstrip())
