"""`prumo plan`: show the scenarios and runs of a study."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, shown_progress, table_console
from prumo.cli.options import (
    earlier_option,
    language_option,
    load_study,
    results_option,
    scale_option,
)

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo.run.events import Event


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
@click.option(
    "--forecast", is_flag=True, help="Forecast how long the study takes and what it costs."
)
@earlier_option("With --forecast: learn from this results folder; repeatable.")
@click.option(
    "--probe",
    "probes",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --forecast: number of scenarios to try for a few steps.",
)
@click.option("--no-probe", is_flag=True, help="With --forecast: use earlier results only.")
@results_option("With --forecast: folder for forecast.json.  [default: results/NAME]")
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
    language: Language,
) -> None:
    """Show the scenarios of STUDY and how many runs they need.

    With --forecast, predict time and cost of the whole study before it runs, each with an
    interval. A few scenarios are tried for some steps, for three minutes at most, and earlier
    results from this machine are used as well. The forecast is kept with the results, so that
    the report, or the same command after the run, can compare it with what really happened.
    """
    from prumo.report.plan import plan_document, print_plan, print_plan_csv

    if as_csv and (as_json or forecast):
        raise click.UsageError("choose one of --csv, --json and --forecast")
    if not forecast and (earlier or probes or no_probe or results):
        raise click.UsageError("--from, --probe, --no-probe and --results go with --forecast")
    if probes and no_probe:
        raise click.UsageError("choose --probe or --no-probe")
    study = load_study(study_file, scale)
    if as_csv:
        print_plan_csv(study)
    elif as_json and not forecast:
        print_json(plan_document(study))
    elif not forecast:
        print_plan(study, show_all=show_all)
    else:
        # NumPy and the executor are slow to import, and only a forecast needs them.
        from prumo.forecast.document import FORECAST_FILE
        from prumo.forecast.study_forecast import Sources, outlook
        from prumo.report.outlook import outlook_document, print_outlook
        from prumo.run.execution import default_results

        folder = results or default_results(study)
        sources = Sources(earlier, 0 if no_probe else probes)
        with shown_progress() as progress:
            found = outlook(study, folder, sources, partial(_show_event, progress))
        if as_json:
            print_json(outlook_document(found, folder / FORECAST_FILE, language))
        else:
            file = folder / FORECAST_FILE
            print_outlook(found, file, table_console(), language, show_all=show_all)


def _show_event(progress: Progress, event: Event) -> None:
    """Pass what an execution reports on to a progress on standard error."""
    from prumo.run.events import Activity, Remark

    match event:
        case Remark(text):
            progress.say(text)
        case Activity(text, detail):
            progress.show(text, detail)
