"""`prumo plan`: show the scenarios and runs of a study."""

from __future__ import annotations

import csv
import json
import sys
from collections import deque
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.language_option import language_option
from prumo.cli.study_file import load_study, scale_option
from prumo.study import level_text, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prumo.study import Plan, Scenario, Study

_TIMES = "\N{MULTIPLICATION SIGN}"
_ENDS = 50
_MOST_IN_TABLE = 1_000


@click.command(
    "plan",
    epilog="Example:  prumo plan study.yaml --forecast   or   "
    "prumo plan study.yaml --csv > scenarios.csv",
)
@click.argument("study_file", metavar="STUDY", type=click.Path(path_type=Path))
@scale_option
@click.option("--csv", "as_csv", is_flag=True, help="Print scenarios and factors as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@click.option("--all", "show_all", is_flag=True, help="Show every scenario of a large study.")
@click.option("--forecast", is_flag=True, help="Tell how long it will take and what it will cost.")
@click.option(
    "--from",
    "earlier",
    multiple=True,
    metavar="RESULTS",
    type=click.Path(path_type=Path),
    help="With --forecast: a results folder to learn from; repeatable.",
)
@click.option(
    "--probe",
    "probes",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --forecast: how many scenarios to try out for a few steps.",
)
@click.option("--no-probe", is_flag=True, help="With --forecast: only look at earlier results.")
@click.option(
    "--results",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="With --forecast: where forecast.json goes.  [default: results/NAME]",
)
@language_option
def command(  # noqa: PLR0913 (each option is an argument)
    study_file: Path,
    scale: str | None,
    as_csv: bool,
    as_json: bool,
    show_all: bool,
    forecast: bool,
    earlier: tuple[Path, ...],
    probes: int | None,
    no_probe: bool,
    results: Path | None,
    tag: str,
) -> None:
    """Show the scenarios of STUDY and how many runs they make.

    With --forecast, tell time and money of the whole study before it runs, each with an interval:
    a few scenarios are tried out for some steps, three minutes at most, and what earlier results
    of this machine teach is used as well. The forecast is kept beside the results, so that it can
    be compared with what came true: by the report, or by the same command after the run.
    """
    if as_csv and (as_json or forecast):
        raise click.UsageError("choose one of --csv, --json and --forecast")
    if not forecast and (earlier or probes or no_probe or results):
        raise click.UsageError("--from, --probe, --no-probe and --results go with --forecast")
    if probes and no_probe:
        raise click.UsageError("choose --probe or --no-probe")
    study = load_study(study_file, scale)
    if forecast:
        # NumPy and the executor are slow to import, and only a forecast needs them.
        from prumo.cli.shown_forecast import show_outlook  # noqa: PLC0415
        from prumo.execute.study_forecast import Sources  # noqa: PLC0415
        from prumo.report.language import language as language_of  # noqa: PLC0415

        show_outlook(
            study,
            results,
            Sources(earlier, 0 if no_probe else probes),
            language_of(tag),
            as_json=as_json,
            show_all=show_all,
        )
    elif as_csv:
        _print_csv(study)
    elif as_json:
        _print_json(study)
    else:
        _print_table(study, plan_of(study), show_all=show_all)


def _print_csv(study: Study) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["scenario", *study.factors])
    writer.writerows(map(_row, study.scenarios()))


def _print_json(study: Study) -> None:
    plan = plan_of(study)
    content = {
        "study": study.name,
        "factors": study.factors,
        "scenarios": [{"scenario": s.name, **s.factors} for s in study.scenarios()],
        "replications": [plan.replications_minimum, plan.replications_maximum],
        "runs": plan.runs,
        "runs_minimum": plan.runs_minimum,
        "order": {"kind": study.order.kind, "seed": study.order.seed},
        "remarks": plan.remarks,
    }
    click.echo(json.dumps(content, indent=2, ensure_ascii=False))


def _print_table(study: Study, plan: Plan, *, show_all: bool) -> None:
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
