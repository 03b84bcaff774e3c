"""The forecast of a study, beside the facts where there are some: tables, and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich import box
from rich.markup import escape
from rich.table import Table

from prumo.forecast.document import Span
from prumo.quantity import MISSING, Quantity
from prumo.report.forecast import check_sentences, estimate_of, forecast_sentences
from prumo.study import level_text

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from rich.console import Console

    from prumo.forecast.document import Forecast, ScenarioForecast
    from prumo.forecast.study_forecast import Outlook
    from prumo.report.language import Language

_MOST_ROWS = 100


def print_outlook(
    outlook: Outlook, file: Path, console: Console, language: Language, *, show_all: bool
) -> None:
    """A forecast that is kept in a file; the facts too, where it was made before."""
    shown = outlook.forecast.scenarios if show_all else outlook.forecast.scenarios[:_MOST_ROWS]
    _print_forecast(outlook.forecast, shown, console, language)
    if left := len(outlook.forecast.scenarios) - len(shown):
        click.echo(f"… {left} more scenarios; --all shows them")
    for sentence in forecast_sentences(outlook.forecast):
        click.echo(language.say(sentence))
    if outlook.is_new:
        click.echo(f"Kept in {file}")
        return
    made = outlook.forecast.made.date().isoformat()
    click.echo(f"\nThis forecast of {made} is kept in {file}; remove it to make another.")
    _print_check(outlook.check, console, language)


def outlook_document(outlook: Outlook, file: Path, language: Language) -> dict[str, object]:
    """Everything that is forecast, ready for JSON."""
    sentences = [*forecast_sentences(outlook.forecast), *check_sentences(outlook.check)]
    return {
        **outlook.forecast.model_dump(mode="json"),
        "file": str(file),
        "new": outlook.is_new,
        "sentences": [language.say(said) for said in sentences],
        "against_fact": outlook.check.to_dicts(),
    }


def _print_forecast(
    forecast: Forecast, rows: tuple[ScenarioForecast, ...], console: Console, language: Language
) -> None:
    def text(span: Span | None, unit: str) -> str:
        return MISSING if span is None else language.told(estimate_of(span, unit))

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("scenario", *rows[0].factors):
        table.add_column(escape(title))
    for title in ("one run", "runs", "all runs", *(["money"] if forecast.currency else [])):
        table.add_column(title, justify="right")
    table.add_column("from")
    for row in rows:
        cells = [row.scenario, *map(level_text, row.factors.values())]
        cells += [text(row.run_seconds, "s"), f"{row.replications:g}", text(row.seconds, "s")]
        cells += [text(row.cost, forecast.currency)] if forecast.currency else []
        table.add_row(*map(escape, cells), row.basis.value)
    console.print(table)


def _print_check(check: pl.DataFrame, console: Console, language: Language) -> None:
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
    console.print(table)
    for sentence in check_sentences(check):
        click.echo(language.say(sentence))
