"""`prumo endpoint deploy` and `update`: a model comes up behind an endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import click

from prumo.cli.console import print_json, shown_progress
from prumo.cli.options import duration
from prumo.errors import InputError
from prumo_endpoint.commands.deployments import (
    FOLDER_OPTION,
    JSON_OPTION,
    echo_wrapped,
    is_agreed,
    wanted_settings,
)
from prumo_endpoint.deploy.deployment import Backend, Deployment, Settings, open_deployment
from prumo_endpoint.image.build import DEFAULT_BASE

_SERVERLESS_ONLY = {
    "max_concurrency": "--max-concurrency",
    "provisioned_concurrency": "--provisioned-concurrency",
}
_NEW_IMAGE = frozenset({"base", "model", "memory_mb", "instance_type"})
"""Settings by which an image that Prumo builds may have to be another one."""
_REAL_TIME_ONLY = {"instances_max": "--instances-max"}
_Command = TypeVar("_Command", bound=Callable[..., None])


def _expiry(text: str) -> float:
    return inf if text == "never" else duration(text)


def _endpoint_options(command: _Command) -> _Command:
    """What `deploy` and `update` both take."""
    options = [
        click.option(
            "--image", metavar="NAME", help="On this machine, instead of one that Prumo builds."
        ),
        click.option(
            "--base", metavar="IMAGE", help=f"For Prumo to build on.  [default: {DEFAULT_BASE}]"
        ),
        click.option(
            "--memory", type=click.IntRange(1), metavar="MB", help="Of a serverless instance."
        ),
        click.option(
            "--max-concurrency",
            type=click.IntRange(1, 200),
            metavar="N",
            help="Maximum number of concurrent serverless instances.  [default: 5]",
        ),
        click.option(
            "--provisioned-concurrency",
            type=click.IntRange(0),
            metavar="N",
            help="Number of instances kept warm, and paid for.  [default: 0]",
        ),
        click.option("--instance-type", metavar="TYPE", help="Real-time, such as ml.m5.large."),
        click.option(
            "--instances-max",
            type=click.IntRange(1),
            metavar="N",
            help="Maximum number of real-time instances; scales with the load.  [default: 1]",
        ),
        click.option(
            "--expires",
            type=_expiry,
            metavar="TIME",
            help="AWS deletes the endpoint after this, such as 4h, whatever happens here; `never` "
            "removes a deadline.",
        ),
        FOLDER_OPTION,
        click.option(
            "--dry-run", is_flag=True, help="Show the plan and what it costs, and do nothing."
        ),
        click.option("--yes", is_flag=True, help="Do not ask before money is spent."),
        JSON_OPTION,
        click.argument("package_options", nargs=-1, metavar="[-- PACKAGE OPTIONS]"),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command(
    epilog="""\b
Examples:
  prumo endpoint deploy trained --kind serverless --memory 2048
  prumo endpoint deploy model.tar.gz --memory 2048 --expires 4h --dry-run
  prumo endpoint deploy network.onnx --memory 2048 \\
    -- --labels cat,dog --normalization 0..1
  prumo endpoint deploy vgg.tar.gz --image lean:1 --instance-type ml.m5.large
"""
)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--name", help="Of the endpoint.  [default: by the model's file]")
@click.option(
    "--kind",
    type=click.Choice(["serverless", "real-time"]),
    help="[default: by --memory or --instance-type]",
)
@click.option("--region", default="us-east-1", show_default=True)
@click.option(
    "--state",
    metavar="s3://BUCKET/PREFIX",
    help="Keep Terraform's state there, with a lock.  [default: in the folder]",
)
@_endpoint_options
def deploy(  # noqa: PLR0913 (one argument per option)
    model: Path,
    name: str | None,
    kind: str | None,
    region: str,
    state: str | None,
    folder: Path,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    package_options: tuple[str, ...],
    **options: Any,  # noqa: ANN401 (click's values, checked above)
) -> None:
    """Bring a model up behind a SageMaker endpoint.

    MODEL is what `prumo model package` wrote, or anything that it takes, with its options after
    `--`. Shows a plan with its price and asks. Then it packages the model, builds an image,
    creates bucket, repository and role, uploads, creates the endpoint with Terraform and waits
    until it answers. If interrupted, run the same command again to resume. Done again, it changes
    what differs; a deadline stays.
    """
    given = _given(options)
    if kind == "serverless" and "instance_type" not in given:
        given.setdefault("memory_mb", 2048)
    unfit = {"serverless": "instance_type", "real-time": "memory_mb"}
    if kind is not None and unfit[kind] in given:
        raise click.UsageError("--memory is for serverless, --instance-type for real-time.")
    given = {"image": "", "base": None if "image" in given else DEFAULT_BASE, **given}
    name = name or _name_of(model)
    deployment = Deployment(folder / name)
    if deployment.ledger.remaining() and (before := deployment.settings()):
        given.setdefault("expires_at", before.expires_at)
    settings = Settings(name=name, region=region, model=str(model), state=state, **given)
    _require_kind(settings, given)
    _bring_up(settings, package_options, folder, dry_run=dry_run, yes=yes, as_json=as_json)


@click.command(
    epilog="Example:  prumo endpoint update mobilenet --model better.tar.gz --expires 4h"
)
@click.argument("name")
@click.option("--model", type=click.Path(path_type=Path), help="Another model.")
@_endpoint_options
def update(  # noqa: PLR0913 (one argument per option)
    name: str,
    model: Path | None,
    folder: Path,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    package_options: tuple[str, ...],
    **options: Any,  # noqa: ANN401 (click's values, checked above)
) -> None:
    """Change an endpoint; a version that is not healthy gives way to the former one."""
    given = _given(options)
    if model is not None:
        given["model"] = str(model)
    if not given:
        raise click.UsageError("Give what is to change: --model, --image, --memory ...")
    if "image" in given:
        given["base"] = None
    if "memory_mb" in given:
        given.setdefault("instance_type", None)
    elif "instance_type" in given:
        given |= {"memory_mb": None, "provisioned_concurrency": None}
    settings = replace(wanted_settings(open_deployment(folder, name)), **given)
    if settings.base is not None and _NEW_IMAGE & given.keys():
        settings = replace(settings, image="")
    _require_kind(settings, given)
    _bring_up(settings, package_options, folder, dry_run=dry_run, yes=yes, as_json=as_json)


def _bring_up(  # noqa: PLR0913 (as many as the commands have)
    settings: Settings,
    package_options: Sequence[str],
    folder: Path,
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    from prumo_endpoint.deploy.artifacts import built_image, packaged_model, require_model
    from prumo_endpoint.deploy.bill import bill_of
    from prumo_endpoint.deploy.plan import plan_of
    from prumo_endpoint.deploy.rollout import Rollout, require_fit
    from prumo_endpoint.deploy.terraform import Terraform
    from prumo_endpoint.sagemaker.preflight import require_region

    require_region(settings.region)
    deployment = Deployment(folder / settings.name)
    backend = Backend.from_text(settings.state, settings.region)
    if settings.model is not None:
        require_model(Path(settings.model), package_options)
    if settings.image:
        require_fit(settings)
    bill, plan = bill_of(settings), plan_of(deployment, settings)
    document = {"plan": asdict(plan), "bill": bill.document()}
    sentences = [*plan.sentences(settings.region), *bill.sentences(settings)]
    if dry_run:
        if as_json:
            print_json({**document, "settings": asdict(settings)})
        else:
            echo_wrapped(sentences)
        return
    Terraform(deployment.terraform_path)  # Better missed now than after an image was built.
    if not yes:
        echo_wrapped(sentences, err=True)
        if not is_agreed(f"Deploy {settings.name} in {settings.region}?"):
            raise InputError("nothing was deployed: answer yes at a terminal, or give --yes")
    if settings.model is not None:
        package = packaged_model(Path(settings.model), package_options, deployment.path)
        settings = replace(settings, model=str(package))
    with shown_progress() as progress:
        if not settings.image:
            settings = replace(settings, image=built_image(settings, progress))
        answering = Rollout(deployment, backend, progress).deploy(settings)
    if as_json:
        print_json({**asdict(answering), **document, "settings": asdict(settings)})
        return
    verb = "answers" if answering.is_changed else "answers as before"
    click.echo(f"{settings.name} {verb}: {answering.url}")
    echo_wrapped(bill.sentences(settings))
    click.echo(f"To remove it: prumo endpoint destroy {settings.name}")


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a user gave, as settings."""
    if options["image"] is not None and options["base"] is not None:
        raise click.UsageError("--base is for an image that Prumo builds: leave --image out.")
    if options["memory"] is not None and options["instance_type"] is not None:
        raise click.UsageError("--memory is for serverless, --instance-type for real-time.")
    names = {"memory": "memory_mb", "expires": "expires_at"}
    given = {names.get(name, name): value for name, value in options.items() if value is not None}
    if "expires_at" in given:
        given["expires_at"] = _deadline(given["expires_at"])
    if given.get("provisioned_concurrency") == 0:
        given["provisioned_concurrency"] = None
    return given


def _require_kind(settings: Settings, given: Mapping[str, Any]) -> None:
    """Refuse options that an endpoint of the other kind has."""
    is_serverless = settings.instance_type is None
    unfit = _REAL_TIME_ONLY if is_serverless else _SERVERLESS_ONLY
    if wrong := [option for name, option in unfit.items() if given.get(name) is not None]:
        kind = "real-time" if is_serverless else "serverless"
        raise click.UsageError(f"{' and '.join(wrong)}: only {kind} endpoints have it.")


def _name_of(model: Path) -> str:
    path = model.resolve()
    name = path.name.removesuffix(".tar.gz")
    if name == path.name and not path.is_dir():
        name = path.stem
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def _deadline(seconds: float) -> str | None:
    if seconds == inf:
        return None
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
