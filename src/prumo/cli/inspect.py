"""`prumo inspect`: this machine, its limits and its noise."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json

if TYPE_CHECKING:
    from rich.console import Console

Sections = dict[str, list[tuple[str, str]]]
ALL_CLEAR = "All clear: nothing seen that would blur a measurement."


@click.command(epilog="Example:  prumo inspect --path results --json > machine.json")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--path",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Folder whose disk is inspected.  [default: the current one]",
)
@click.option("--quick", is_flag=True, help="Skip the timing loop, which takes most of a second.")
def command(as_json: bool, path: Path, quick: bool) -> None:
    """Show this machine, its limits and its noise, with advice for measuring on it."""
    from rich.console import Console

    from prumo.machine.machine import inspect_machine, machine_facts
    from prumo.report.machine import advise, describe

    machine = machine_facts(path) if quick else inspect_machine(path)
    advice = [
        {"warning": warning.key, "seen": str(seen), "advice": str(warning.advice)}
        for warning, seen in advise(machine).items()
    ]
    if as_json:
        print_json({**asdict(machine), "advice": advice})
    elif (console := Console()).is_terminal:
        _print_tables(console, describe(machine), advice)
    else:
        _print_plain(describe(machine), advice)


def _print_tables(console: Console, sections: Sections, advice: list[dict[str, str]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    for title, rows in sections.items():
        table = Table(title=title, title_justify="left", show_header=False, min_width=60)
        table.add_column(style="cyan", no_wrap=True, min_width=20)
        table.add_column(overflow="fold")
        for label, value in rows:
            table.add_row(label, escape(value))
        console.print(table)
    for each in advice:
        seen, text = escape(each["seen"]), escape(each["advice"])
        console.print(f"[yellow]![/yellow] [bold]{seen}[/bold]. {text}", highlight=False)
    if not advice:
        console.print(f"[green]✓[/green] {ALL_CLEAR}")


def _print_plain(sections: Sections, advice: list[dict[str, str]]) -> None:
    for title, rows in sections.items():
        click.echo(title)
        for label, value in rows:
            click.echo(f"  {label}: {value}")
        click.echo()
    for each in advice:
        click.echo(f"! {each['seen']}. {each['advice']}")
    if not advice:
        click.echo(ALL_CLEAR)
