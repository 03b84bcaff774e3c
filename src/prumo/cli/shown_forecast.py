"""How a forecast is made and shown: a table, sentences, or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from prumo.analyse.forecast.forecast_check import check_sentences
from prumo.analyse.forecast.forecast_text import estimate_of, forecast_sentences
from prumo.cli.console import table_console
from prumo.cli.shown_progress import shown_progress
from prumo.execute.event import Activity, Remark
from prumo.execute.study_forecast import outlook
from prumo.execute.study_run import default_results
from prumo.quantity import MISSING, Quantity
from prumo.results.forecast import FORECAST_FILE, Span
from prumo.study import level_text

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from prumo.execute.event import Event
    from prumo.execute.study_forecast import Outlook, Sources
    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo.results.forecast import Forecast, ScenarioForecast
    from prumo.study import Study

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
