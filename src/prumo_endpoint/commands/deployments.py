"""`prumo endpoint list, show, invoke, destroy` and `leftovers`: what was deployed."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_columns, print_json, shown_progress
from prumo.errors import InputError
from prumo.exit_codes import ExitCode
from prumo_endpoint.deploy.deployment import (
    DEFAULT_FOLDER,
    Backend,
    Deployment,
    Settings,
    deployments,
    open_deployment,
)

if TYPE_CHECKING:
    from prumo_endpoint.deploy.bill import Bill

FOLDER_OPTION = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=DEFAULT_FOLDER,
    show_default=True,
    metavar="FOLDER",
    help="Where deployments are remembered.",
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
_NO_ENDPOINT = "no endpoint"
"""Some of the rest exists: a deployment that was cut off, or whose deadline has passed."""
_REMOVED = "removed"
_NOT_RUNNING = frozenset({_NO_ENDPOINT, _REMOVED})
_WIDTH = 80


@click.command("list", epilog="Example:  prumo endpoint list")
@FOLDER_OPTION
@JSON_OPTION
def list_command(folder: Path, as_json: bool) -> None:
    """List the deployments of a folder: what runs, and what it costs."""
    from prumo_endpoint.deploy.bill import bill_of

    found = [
        (settings, _status(deployment, settings), bill_of(settings))
        for deployment in deployments(folder)
        for settings in [wanted_settings(deployment)]
    ]
    if as_json:
        print_json(
            [
                {**asdict(settings), "status": status, "bill": bill.document()}
                for settings, status, bill in found
            ]
        )
        return
    if not found:
        click.echo(f"There are no deployments in {folder}.")
        return
    running = [bill for _, status, bill in found if status not in _NOT_RUNNING]
    click.echo(f"{len(running)} of {len(found)} running: {_cost_of(running)}")
    heads: tuple[str, ...] = ("name", "status", "runs on", "price", "until (UTC)")
    rows: list[tuple[str, ...]] = [
        (
            settings.name,
            status,
            settings.instance_type or f"serverless {(settings.memory_mb or 0) // 1024} GB",
            "nothing" if status in _NOT_RUNNING else _price(bill),
            _minute(settings.expires_at),
        )
        for settings, status, bill in found
    ]
    regions = [settings.region for settings, _, _ in found]
    if len(set(regions)) > 1:
        heads = (*heads, "region")
        rows = [(*row, region) for row, region in zip(rows, regions, strict=True)]
    print_columns(heads, rows)


@click.command(epilog="Example:  prumo endpoint show mobilenet")
@click.argument("name")
@FOLDER_OPTION
@JSON_OPTION
def show(name: str, folder: Path, as_json: bool) -> None:
    """Show one deployment: status, cost, and everything that exists for it."""
    from prumo_endpoint.deploy.bill import bill_of

    deployment = open_deployment(folder, name)
    settings = wanted_settings(deployment)
    remaining = [entry.resource for entry in reversed(deployment.ledger.remaining())]
    status, bill = _status(deployment, settings), bill_of(settings)
    if as_json:
        print_json(
            {
                "settings": asdict(settings),
                "status": status,
                "bill": bill.document(),
                "resources": [{"kind": each.kind, "name": each.name} for each in remaining],
            }
        )
        return
    click.echo(f"{name} in {settings.region}: {status}")
    if remaining:
        echo_wrapped(bill.sentences(settings))
        print_columns(("kind", "name"), [(each.kind, each.name) for each in remaining])


@click.command(epilog="Example:  prumo endpoint invoke mobilenet photograph.jpg")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--content-type", metavar="TYPE", help="[default: by the file's name]")
@FOLDER_OPTION
def invoke(name: str, file: Path, content_type: str | None, folder: Path) -> None:
    """Ask an endpoint and print its answer; the time goes to standard error."""
    from prumo_endpoint.bodies import read_body
    from prumo_endpoint.deploy.health import invoked

    settings = wanted_settings(open_deployment(folder, name))
    answer, seconds = invoked(settings, read_body(file, content_type))
    sys.stdout.buffer.write(answer)
    click.echo(f"\nanswered in {seconds * 1000:.0f} ms", err=True)


@click.command(epilog="Example:  prumo endpoint destroy mobilenet")
@click.argument("name")
@FOLDER_OPTION
@click.option("--yes", is_flag=True, help="Do not ask.")
def destroy(name: str, folder: Path, yes: bool) -> None:
    """Remove everything of a deployment, look for it, and write a certificate."""
    from prumo_endpoint.deploy.rollout import Rollout

    deployment = open_deployment(folder, name)
    settings = wanted_settings(deployment)
    if not yes and not is_agreed(f"Remove {name} and everything that belongs to it?"):
        raise InputError("nothing was removed: answer yes at a terminal, or give --yes")
    with shown_progress() as progress:
        backend = Backend.from_text(settings.state, settings.region)
        certificate = Rollout(deployment, backend, progress).destroy()
    click.echo(f"Nothing is left of {name}. The certificate:\n{certificate}")


@click.command(epilog="Example:  prumo endpoint leftovers --region us-east-1")
@click.option("--region", default="us-east-1", show_default=True)
@FOLDER_OPTION
@JSON_OPTION
def leftovers(region: str, folder: Path, as_json: bool) -> None:
    """Look for anything that Prumo made in an account and nobody removed.

    Exit codes: 0 nothing is left, 1 something is.
    """
    from prumo_endpoint.deploy.leftovers import find_leftovers

    found = find_leftovers(region, deployments(folder))
    if as_json:
        print_json([asdict(each) for each in found])
    elif not found:
        click.echo(f"Nothing is left in {region}.")
    else:
        click.echo(f"{len(found)} left in {region}:")
        for remove in dict.fromkeys(each.remove for each in found):
            click.echo(remove)
            for each in found:
                if each.remove == remove:
                    click.echo(f"  {each.name}")
    if found:
        sys.exit(ExitCode.FINDINGS)


def is_agreed(question: str) -> bool:
    """Whether somebody at a terminal says yes."""
    return sys.stdin.isatty() and click.confirm(question, err=True)


def wanted_settings(deployment: Deployment) -> Settings:
    """What was last wanted of a deployment."""
    settings = deployment.settings()
    if settings is None:
        raise InputError(f"{deployment.path} has no deployment")
    return settings


def _status(deployment: Deployment, settings: Settings) -> str:
    from prumo_endpoint.deploy.health import status_of
    from prumo_endpoint.sagemaker.account import Account

    return status_of(Account(settings.region), settings.name) or (
        _NO_ENDPOINT if deployment.ledger.remaining() else _REMOVED
    )


def _cost_of(bills: Sequence[Bill]) -> str:
    idle = sum(bill.idle_per_hour or 0 for bill in bills)
    worst = sum(bill.worst_per_hour or 0 for bill in bills)
    unknown = sum(bill.worst_per_hour is None for bill in bills)
    without = f", and {unknown} without a price" if unknown else ""
    return f"${idle:.3g} an hour while idle, at most ${worst:.3g} an hour{without}"


def _price(bill: Bill) -> str:
    """In a cell of a table."""
    parts = []
    if bill.idle_per_hour:
        parts.append(f"${bill.idle_per_hour:.3g}/hour")
    if bill.per_1000_answers:
        parts.append(f"${bill.per_1000_answers:.3g}/1,000")
    return " + ".join(parts) or "unknown"


def _minute(moment: str | None) -> str:
    """Without seconds.

    >>> _minute("2026-11-18T08:05:12Z")
    '2026-11-18 08:05'
    """
    return "no deadline" if moment is None else moment[:16].replace("T", " ")


def echo_wrapped(sentences: Iterable[str], *, err: bool = False) -> None:
    """Print each on lines of its own that every terminal shows whole."""
    for sentence in sentences:
        click.echo(textwrap.fill(sentence, _WIDTH, subsequent_indent="  "), err=err)
