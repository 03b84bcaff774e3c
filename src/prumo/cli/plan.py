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
from rich import box
from rich.markup import escape
from rich.table import Table

from prumo.cli.console import shown_progress, table_console
from prumo.cli.options import language_option, load_study, scale_option
from prumo.forecast.document import FORECAST_FILE, Span
from prumo.forecast.study_forecast import outlook
from prumo.quantity import MISSING, Quantity
from prumo.report.forecast import check_sentences, estimate_of, forecast_sentences
from prumo.run.events import Activity, Remark
from prumo.run.study_run import default_results
from prumo.study import level_text, plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

    from prumo.forecast.document import Forecast, ScenarioForecast
    from prumo.forecast.study_forecast import Outlook, Sources
    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo.run.events import Event
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
        from prumo.forecast.study_forecast import Sources  # noqa: PLC0415
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


_MOST_ROWS = 100


def show_outlook(  # noqa: PLR0913 (as many as the options of the command)
    study: Study,
    results: Path | None,
    sources: Sources,
    language: Language,
    *,
    as_json: bool,
    show_all: bool,
) -> None:
    """Make the forecast of a study, or compare the one that is there, and print it."""
    folder = results or default_results(study)
    with shown_progress() as progress:
        told = outlook(study, folder, sources, _Heard(progress))
    file = folder / FORECAST_FILE
    if as_json:
        click.echo(json.dumps(_document(told, file, language), indent=1, ensure_ascii=False))
        return
    shown = told.forecast.scenarios if show_all else told.forecast.scenarios[:_MOST_ROWS]
    _print_forecast(told.forecast, shown, language)
    if left := len(told.forecast.scenarios) - len(shown):
        click.echo(f"… {left} more scenarios; --all shows them")
    for sentence in forecast_sentences(told.forecast):
        click.echo(language.say(sentence))
    if told.is_new:
        click.echo(f"Kept in {file}")
        return
    made = told.forecast.made.date().isoformat()
    click.echo(f"\nThis forecast of {made} is kept in {file}; remove it to make another.")
    _print_check(told.check, language)


class _Heard:
    """Passes what an execution tells on to a progress on standard error."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __call__(self, event: Event) -> None:
        match event:
            case Remark(text):
                self._progress.say(text)
            case Activity(text, detail):
                self._progress.show(text, detail)


def _document(told: Outlook, file: Path, language: Language) -> dict[str, object]:
    sentences = [*forecast_sentences(told.forecast), *check_sentences(told.check)]
    return {
        **told.forecast.model_dump(mode="json"),
        "file": str(file),
        "new": told.is_new,
        "sentences": [language.say(said) for said in sentences],
        "against_fact": told.check.to_dicts(),
    }


def _print_forecast(
    forecast: Forecast, rows: tuple[ScenarioForecast, ...], language: Language
) -> None:
    def told(span: Span | None, unit: str) -> str:
        return MISSING if span is None else language.told(estimate_of(span, unit))

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("scenario", *rows[0].factors):
        table.add_column(escape(title))
    for title in ("one run", "runs", "all runs", *(["money"] if forecast.currency else [])):
        table.add_column(title, justify="right")
    table.add_column("from")
    for row in rows:
        cells = [row.scenario, *map(level_text, row.factors.values())]
        cells += [told(row.run_seconds, "s"), f"{row.replications:g}", told(row.seconds, "s")]
        cells += [told(row.cost, forecast.currency)] if forecast.currency else []
        table.add_row(*map(escape, cells), row.basis.value)
    table_console().print(table)


def _print_check(check: pl.DataFrame, language: Language) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("scenario")
    for title in ("runs", "forecast", "fact"):
        table.add_column(title, justify="right")
    table.add_column("inside")
    for row in check.iter_rows(named=True):
        span = Span(value=row["forecast_seconds"], low=row["low_seconds"], high=row["high_seconds"])
        table.add_row(
            row["scenario"],
            str(row["runs"]),
            escape(language.told(estimate_of(span, "s"))),
            language.told(Quantity(row["fact_seconds"], "s")),
            "yes" if row["inside"] else "no",
        )
    table_console().print(table)
    for sentence in check_sentences(check):
        click.echo(language.say(sentence))
