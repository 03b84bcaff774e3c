"""`prumo setup`: make, list and remove the isolated environments of frameworks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import date_of, print_columns, print_json, shown_progress
from prumo.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.environments.framework import Request
    from prumo.environments.store import Environment

_VERSION_COLUMNS = 22
"""A version of Debian's Caffe is longer; --json has all of it."""

EPILOG = """\b
Examples:
  prumo setup study.yaml             every framework that the study compares
  prumo setup pytorch                the version that Prumo was tested with
  prumo setup pytorch@2.12.0+cpu     another version, built for processors
  prumo setup --list
  prumo setup --remove pytorch-2.13.0-cpu-1a2b3c4d5e
"""


@click.command(epilog=EPILOG)
@click.argument("names", metavar="[STUDY|FRAMEWORK[@VERSION]|NAME]...", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="List the existing environments.")
@click.option("--remove", "removing", is_flag=True, help="Remove environments by NAME, or `all`.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(names: tuple[str, ...], listing: bool, removing: bool, as_json: bool) -> None:
    """Create the isolated environments that a study needs.

    Each framework version gets its own environment in the user's cache (PRUMO_CACHE sets the
    folder), installed with pip and its configuration. Caffe has no pip package: it is
    installed from Debian 11 with debootstrap (PRUMO_DEBIAN_MIRROR sets the mirror). An
    existing environment is reused.
    """
    from prumo.environments.setup import ensure
    from prumo.environments.store import environments, remove

    if listing and removing:
        raise click.UsageError("--list and --remove exclude each other")
    if not names and not listing:
        raise click.UsageError("name a study file, a framework, or an environment with --remove")
    if listing:
        found = environments()
        _print(found, as_json=as_json)
        if not found and not as_json:
            click.echo("no environments yet; `prumo setup pytorch` makes one")
    elif removing:
        if names == ("all",):
            names = tuple(environment.name for environment in environments())
        removed = [remove(name) for name in names]
        if as_json:
            print_json({"removed": [environment.as_json() for environment in removed]})
            return
        for environment in removed:
            click.echo(f"removed {environment.name} ({_megabytes(environment)})")
    else:
        requests = {request.name: request for name in names for request in _requests(name)}
        with shown_progress() as progress:
            made = [ensure(request, progress) for request in requests.values()]
        _print(made, as_json=as_json)


def _requests(name: str) -> Sequence[Request]:
    """What a study needs, or the framework that is named."""
    from prumo.environments.frameworks import find_framework
    from prumo.environments.setup import study_requests

    path = Path(name)
    if not path.is_file() and path.suffix not in {".yaml", ".yml"}:
        return [find_framework(name)]
    from prumo.study import load

    requests, unavailable = study_requests(load(path))
    if unavailable and not requests:
        raise UnavailableError("; ".join(unavailable))
    for reason in unavailable:
        click.echo(f"{path}: {reason}; its runs will be marked as unavailable", err=True)
    if not requests:
        click.echo(f"{path}: its runs are commands, which need no environment", err=True)
    return requests


def _print(found: Sequence[Environment], *, as_json: bool) -> None:
    if as_json:
        content = {"environments": [environment.as_json() for environment in found]}
        print_json(content)
        return
    rows = [
        [
            environment.name,
            _shortened(environment.build),
            _megabytes(environment),
            date_of(environment.created),
        ]
        for environment in found
    ]
    if rows:
        print_columns(["name", "version", "size", "created"], rows)
        click.echo(f"in {found[0].path.parent}")


def _shortened(version: str) -> str:
    return version if len(version) <= _VERSION_COLUMNS else f"{version[: _VERSION_COLUMNS - 1]}…"


def _megabytes(environment: Environment) -> str:
    return f"{environment.size_bytes / 1e6:.0f} MB"
