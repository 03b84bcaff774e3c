"""`prumo endpoint deploy, update, list, show, invoke, destroy` and `leftovers`."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from prumo.cli.console import print_columns, print_json, shown_progress
from prumo.cli.options import duration
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

_FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=DEFAULT_FOLDER,
    show_default=True,
    metavar="FOLDER",
    help="Where deployments are remembered.",
)
_STATE = click.option(
    "--state",
    metavar="s3://BUCKET/PREFIX",
    help="Keep Terraform's state there, with a lock.  [default: in the folder]",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
_YES = click.option("--yes", is_flag=True, help="Do not ask before money is spent.")
_EXPIRES = click.option(
    "--expires",
    type=duration,
    metavar="TIME",
    help="AWS deletes the endpoint after this, such as 4h, whatever happens here.",
)


@click.command(
    epilog="""\b
Examples:
  prumo endpoint deploy model.tar.gz --image lean:1 --memory 2048
  prumo endpoint deploy vgg.tar.gz --image lean:1 --instance-type ml.m5.large
"""
)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--image", required=True, metavar="NAME", help="An image on this machine.")
@click.option("--name", help="Of the endpoint.  [default: by the model's file]")
@click.option(
    "--kind",
    type=click.Choice(["serverless", "real-time"]),
    help="[default: by --memory or --instance-type]",
)
@click.option("--memory", type=click.IntRange(1), metavar="MB", help="Of a serverless instance.")
@click.option("--max-concurrency", type=click.IntRange(1, 200), default=5, show_default=True)
@click.option("--provisioned-concurrency", type=click.IntRange(1), metavar="N")
@click.option("--instance-type", metavar="TYPE", help="Such as ml.m5.large.")
@click.option("--instances-max", type=click.IntRange(1), default=1, show_default=True)
@click.option("--region", default="us-east-1", show_default=True)
@_EXPIRES
@_FOLDER
@_STATE
@_YES
@_JSON
def deploy(  # noqa: PLR0913 (one argument per option)
    model: Path,
    image: str,
    name: str | None,
    kind: str | None,
    memory: int | None,
    max_concurrency: int,
    provisioned_concurrency: int | None,
    instance_type: str | None,
    instances_max: int,
    region: str,
    expires: float | None,
    folder: Path,
    state: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Bring a packaged model up behind a SageMaker endpoint.

    Makes a bucket, a repository and a role, pushes the image, uploads the model, creates the
    endpoint by Terraform and waits until it answers. Cut off at any moment, the same command goes
    on. Done again, it changes what differs.
    """
    if kind == "serverless" and memory is None:
        memory = 2048
    if (kind == "serverless" and instance_type) or (kind == "real-time" and memory):
        raise click.UsageError("--memory is for serverless, --instance-type for real-time.")
    settings = Settings(
        name=name or _name_of(model),
        region=region,
        model=str(_package(model)),
        image=image,
        memory_mb=memory,
        max_concurrency=max_concurrency,
        provisioned_concurrency=provisioned_concurrency,
        instance_type=instance_type,
        instances_max=instances_max,
        expires_at=_deadline(expires),
        state=state,
    )
    _bring_up(settings, folder, yes=yes, as_json=as_json)


@click.command(
    epilog="Example:  prumo endpoint update mobilenet --model better.tar.gz --expires 4h"
)
@click.argument("name")
@click.option("--model", type=click.Path(path_type=Path), help="Another packaged model.")
@click.option("--image", metavar="NAME", help="Another image on this machine.")
@click.option("--memory", type=click.IntRange(1), metavar="MB", help="Of a serverless instance.")
@click.option("--instance-type", metavar="TYPE", help="Such as ml.m5.large.")
@_EXPIRES
@_FOLDER
@_YES
@_JSON
def update(  # noqa: PLR0913 (one argument per option)
    name: str,
    model: Path | None,
    image: str | None,
    memory: int | None,
    instance_type: str | None,
    expires: float | None,
    folder: Path,
    yes: bool,
    as_json: bool,
) -> None:
    """Change an endpoint; a version that is not healthy gives way to the former one."""
    settings = _wanted(open_deployment(folder, name))
    given: dict[str, Any] = {
        "model": None if model is None else str(_package(model)),
        "image": image,
        "expires_at": _deadline(expires),
    }
    if memory is not None:
        given |= {"memory_mb": memory, "instance_type": None}
    if instance_type is not None:
        given |= {"instance_type": instance_type, "memory_mb": None}
    changed = {key: value for key, value in given.items() if value is not None}
    if not changed:
        raise click.UsageError("Give what is to change: --model, --image, --memory ...")
    if memory is not None or instance_type is not None:
        changed |= {key: given[key] for key in ("memory_mb", "instance_type")}
    _bring_up(replace(settings, **changed), folder, yes=yes, as_json=as_json)


@click.command("list", epilog="Example:  prumo endpoint list")
@_FOLDER
@_JSON
def list_command(folder: Path, as_json: bool) -> None:
    """List the deployments of a folder: what runs, and what it costs."""
    found = [(deployment, _wanted(deployment)) for deployment in deployments(folder)]
    if as_json:
        print_json([{**asdict(settings), "status": _status(settings)} for _, settings in found])
        return
    if not found:
        click.echo(f"There are no deployments in {folder}.")
        return
    rows = [
        (
            settings.name,
            _status(settings),
            settings.instance_type or f"serverless {settings.memory_mb} MB",
            settings.region,
            settings.expires_at or "no deadline",
        )
        for _, settings in found
    ]
    print_columns(("name", "status", "runs on", "region", "until"), rows)


@click.command(epilog="Example:  prumo endpoint show mobilenet")
@click.argument("name")
@_FOLDER
@_JSON
def show(name: str, folder: Path, as_json: bool) -> None:
    """Show one deployment: status, cost, and everything that exists for it."""
    from prumo_endpoint.deploy.bill import bill_of

    deployment = open_deployment(folder, name)
    settings = _wanted(deployment)
    remaining = [entry.resource for entry in reversed(deployment.ledger.remaining())]
    status, bill = _status(settings), bill_of(settings)
    if as_json:
        print_json(
            {
                "settings": asdict(settings),
                "status": status,
                "bill": asdict(bill),
                "resources": [{"kind": each.kind, "name": each.name} for each in remaining],
            }
        )
        return
    click.echo(f"{name} in {settings.region}: {status}")
    for sentence in bill.sentences(settings) if remaining else []:
        click.echo(sentence)
    for each in remaining:
        click.echo(f"  {each.kind:28} {each.name}")


@click.command(epilog="Example:  prumo endpoint invoke mobilenet photograph.jpg")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--content-type", metavar="TYPE", help="[default: by the file's name]")
@_FOLDER
def invoke(name: str, file: Path, content_type: str | None, folder: Path) -> None:
    """Ask an endpoint and print its answer; the time goes to standard error."""
    from prumo_endpoint.bodies import read_body
    from prumo_endpoint.deploy.rollout import invoked

    settings = _wanted(open_deployment(folder, name))
    answer, seconds = invoked(settings, read_body(file, content_type))
    sys.stdout.buffer.write(answer)
    click.echo(f"\nanswered in {seconds * 1000:.0f} ms", err=True)


@click.command(epilog="Example:  prumo endpoint destroy mobilenet")
@click.argument("name")
@_FOLDER
@click.option("--yes", is_flag=True, help="Do not ask.")
def destroy(name: str, folder: Path, yes: bool) -> None:
    """Remove everything of a deployment, look for it, and write a certificate."""
    from prumo_endpoint.deploy.rollout import Rollout

    deployment = open_deployment(folder, name)
    settings = _wanted(deployment)
    if not yes and not _agreed(f"Remove {name} and everything that belongs to it?"):
        raise InputError("nothing was removed: answer yes at a terminal, or give --yes")
    with shown_progress() as progress:
        backend = Backend.from_text(settings.state, settings.region)
        certificate = Rollout(deployment, backend, progress).destroy()
    click.echo(f"Nothing is left of {name}. The certificate: {certificate}")


@click.command(epilog="Example:  prumo endpoint leftovers --region us-east-1")
@click.option("--region", default="us-east-1", show_default=True)
@_FOLDER
@_JSON
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
        for each in found:
            click.echo(f"  {each.name}\n    {each.remove}")
    if found:
        sys.exit(ExitCode.FINDINGS)


def _bring_up(settings: Settings, folder: Path, *, yes: bool, as_json: bool) -> None:
    from prumo_endpoint.deploy.bill import bill_of
    from prumo_endpoint.deploy.rollout import Rollout, require_fit

    bill = bill_of(settings)
    sentences = bill.sentences(settings)
    require_fit(settings)
    if not yes:
        for sentence in sentences:
            click.echo(sentence, err=True)
        if not _agreed(f"Deploy {settings.name} in {settings.region}?"):
            raise InputError("nothing was deployed: answer yes at a terminal, or give --yes")
    with shown_progress() as progress:
        backend = Backend.from_text(settings.state, settings.region)
        answering = Rollout(Deployment(folder / settings.name), backend, progress).deploy(settings)
    if as_json:
        print_json({**asdict(answering), "settings": asdict(settings), "bill": asdict(bill)})
        return
    verb = "answers" if answering.is_changed else "answers as before"
    click.echo(f"{settings.name} {verb}: {answering.url}")
    for sentence in sentences:
        click.echo(sentence)
    click.echo(f"To remove it: prumo endpoint destroy {settings.name}")


def _agreed(question: str) -> bool:
    return sys.stdin.isatty() and click.confirm(question, err=True)


def _wanted(deployment: Deployment) -> Settings:
    settings = deployment.settings()
    if settings is None:
        raise InputError(f"{deployment.path} has no deployment")
    return settings


def _status(settings: Settings) -> str:
    from prumo_endpoint.deploy.rollout import endpoint_status

    return endpoint_status(settings) or "removed"


def _package(model: Path) -> Path:
    """The archive of a packaged model."""
    from prumo_endpoint.image.build import model_manifest
    from prumo_endpoint.targets.container import model_folder

    if model.is_dir() or not model.name.endswith(".tar.gz"):
        raise InputError(f"{model}: an endpoint takes a package in one file, model.tar.gz")
    with model_folder(model) as folder:
        model_manifest(folder, model)
    return model.absolute()


def _name_of(model: Path) -> str:
    name = model.name.removesuffix(".tar.gz").lower()
    return "-".join("".join(c if c.isalnum() else " " for c in name).split())


def _deadline(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
