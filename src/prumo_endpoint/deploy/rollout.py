"""An endpoint is brought up, changed and taken down: each step can be cut off and done again.

What is about to be created is in the ledger first. After a crash the ledger may know of a resource
that Terraform's state does not: it is then looked for in the account and taken back into the state.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, PrumoError, UnavailableError
from prumo.files import file_sha256, write_json
from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.deploy.deployment import IMPORTS_FILE, Backend, Deployment, Settings
from prumo_endpoint.deploy.push import image_architecture, image_tag, push_image
from prumo_endpoint.deploy.terraform import Change, Step, Terraform, TerraformError
from prumo_endpoint.ledger import Resource, State
from prumo_endpoint.sagemaker.account import Account, AccountError, aws_errors
from prumo_endpoint.sagemaker.deployment import architecture_of
from prumo_endpoint.sagemaker.preflight import quota_lines
from prumo_endpoint.sagemaker.resources import KINDS, Removal, exists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.progress import Progress
    from prumo_endpoint.bodies import Body

READY_SECONDS = 2700.0
PATIENCE_SECONDS = 600.0
ANSWER_SECONDS = 70.0
"""SageMaker allows a container 60."""
_POLL_SECONDS = 5.0
_CHANGING = frozenset({"Creating", "Updating", "SystemUpdating", "RollingBack"})


@dataclass(frozen=True)
class Answering:
    """An endpoint that has answered."""

    url: str
    answer_seconds: float
    """Of its first request."""
    is_changed: bool
    """Whether anything had to be done."""


class Rollout:
    """Makes the account as a deployment's settings want it."""

    def __init__(self, deployment: Deployment, backend: Backend, progress: Progress) -> None:
        self._deployment = deployment
        self._backend = backend
        self._progress = progress
        self._is_ready = False

    @cached_property
    def _terraform(self) -> Terraform:
        return Terraform(self._deployment.terraform_path)

    def deploy(self, settings: Settings) -> Answering:
        """Bring it up, or change it; back to what it was where the new version is not healthy."""
        deployment = self._deployment
        terraform = self._terraform.program
        self._progress.show(f"asking AWS, and {Path(terraform).name}")
        account = Account(settings.region)
        with deployment.locked():
            before = deployment.settings()
            if before is not None and before.region != settings.region:
                raise InputError(
                    f"{settings.name} is in {before.region}; to move it, destroy it first"
                )
            if before is not None:
                account.require_number(before.account, settings.name)
            self._require_quota(account, settings)
            model = settings.model
            settings = replace(
                settings,
                account=account.number,
                image_tag=image_tag(settings.image),
                model_key=None if model is None else f"{file_sha256(Path(model))}.tar.gz",
            )
            healthy = deployment.healthy_settings()
            was_up = _status(account, settings.name) == "InService"
            try:
                return self._bring_up(account, settings)
            except AccountError as error:
                raise self._half_way(error) from error
            except (TerraformError, UnhealthyError) as error:
                if healthy is None or not was_up or healthy == settings:
                    raise self._half_way(error) from error
                self._progress.say(f"not healthy, going back: {error}")
                self._bring_up(account, replace(healthy, expires_at=settings.expires_at))
                raise PrumoError(
                    f"the new version is not healthy and the former one answers again: {error}"
                ) from error

    def _half_way(self, error: PrumoError) -> PrumoError:
        """The error, and what to do about what exists already."""
        if not self._deployment.ledger.remaining():
            return PrumoError(str(error))
        return PrumoError(
            f"{error}. What was created exists and may cost money: run the same command again, or "
            f"prumo endpoint destroy {self._deployment.name}"
        )

    def _require_quota(self, account: Account, settings: Settings) -> None:
        instances = {} if settings.instance_type is None else {settings.instance_type: 1}
        for line in quota_lines(account, instances, settings.memory_mb or 0):
            self._progress.say(line)

    def destroy(self) -> Path:
        """Take everything down; a certificate of what was created and is gone."""
        deployment = self._deployment
        with deployment.locked():
            settings = deployment.settings()
            if settings is None:
                raise InputError(f"{deployment.path} has no deployment")
            account = Account(settings.region)
            account.require_number(settings.account, settings.name)
            try:
                self._destroy_by_terraform(settings, account)
            except (TerraformError, UnavailableError) as error:
                self._progress.say(f"Terraform failed, removing by the ledger: {error}")
            removal = Removal(deployment.ledger, self._progress.say, late_seconds=0)
            if remains := removal.remove(PATIENCE_SECONDS):
                listed = ", ".join(f"{each.kind} {each.name}" for each in remains)
                raise PrumoError(
                    f"not everything could be removed: {listed}: {removal.last_error}. "
                    f"Try again: prumo endpoint destroy {deployment.name}"
                )
            return self._certificate(account)

    def _destroy_by_terraform(self, settings: Settings, account: Account) -> None:
        ledger = self._deployment.ledger
        (self._deployment.terraform_path / IMPORTS_FILE).unlink(missing_ok=True)
        self._configure(settings.variables(endpoint=False))
        self._progress.show("asking what there is to remove")
        changes = [change for change in self._terraform.plan(destroy=True) if change.is_change]
        # What the state knows and an older ledger does not.
        noted = {(entry.resource.kind, entry.resource.name) for entry in ledger.remaining()}
        for resource in _named(changes, account):
            if (resource.kind, resource.name) not in noted:
                ledger.record(resource, State.CREATED)
        if changes:
            self._terraform.apply(self._show)

    def _bring_up(self, account: Account, settings: Settings) -> Answering:
        deployment = self._deployment
        deployment.write_settings(settings)
        self._configure(settings.variables())
        outputs = self._terraform.outputs()
        is_changed = False
        # Terraform writes outputs one by one: a kill may have left only some of them.
        if not {"bucket", "repository_url"} <= outputs.keys():
            self._configure(settings.variables(endpoint=False))
            is_changed = self._apply(account)
            outputs = self._terraform.outputs()
            self._configure(settings.variables())
        repository, tag = outputs["repository_url"], str(settings.image_tag)
        push_image(settings.image, repository, tag, account, self._progress)
        if settings.model is not None and settings.model_key is not None:
            self._upload(account, Path(settings.model), outputs["bucket"], settings.model_key)
        if settings.expires_at and datetime.fromisoformat(settings.expires_at) <= _now():
            raise InputError(f"the deadline {settings.expires_at} has passed; give --expires")
        is_changed = self._apply(account) or is_changed
        wanted = self._terraform.outputs()["configuration_name"]
        self._await_in_service(account, settings.name, wanted)
        seconds = self._first_answer(settings)
        deployment.write_settings(settings, healthy=True)
        return Answering(self._terraform.outputs()["endpoint_url"], seconds, is_changed)

    def _configure(self, variables: dict[str, Any]) -> None:
        self._deployment.write_configuration(variables, self._backend)
        if not self._is_ready:
            self._progress.show("preparing Terraform")
            self._terraform.init()
            self._is_ready = True

    def _apply(self, account: Account) -> bool:
        """Whether there was anything to do."""
        changes, adopts = self._planned(account)
        ledger = self._deployment.ledger
        created = _named([change for change in changes if change.creates], account)
        for resource in created:
            ledger.record(resource, State.INTENDED)
        try:
            if changes or adopts:
                self._terraform.apply(self._show)
        except TerraformError:
            # What was not created must not count as ours: somebody else may take the name.
            self._note_absent(created, account)
            raise
        for resource in created:
            ledger.record(resource, State.CREATED)
        gone = [replace(change, after={}) for change in changes if change.removes]
        self._note_absent(_named(gone, account), account)
        (self._deployment.terraform_path / IMPORTS_FILE).unlink(missing_ok=True)
        return bool(changes)

    def _planned(self, account: Account) -> tuple[list[Change], bool]:
        """What has to change, and whether something that exists is taken into the state first."""
        imports = self._deployment.terraform_path / IMPORTS_FILE
        imports.unlink(missing_ok=True)
        self._progress.show("asking what has to change")
        changes = self._changes()
        # Cut off while it was created, but there: its replacement would want the same name.
        tainted = [each for each in changes if each.is_tainted and each.kind not in STATEFUL_KINDS]
        for change in tainted:
            self._terraform.untaint(change.address)
        orphans = self._orphans([each for each in changes if each not in tainted], account)
        if orphans:
            write_json(imports, {"import": orphans})
        return (self._changes() if tainted or orphans else changes), bool(orphans)

    def _changes(self) -> list[Change]:
        return [change for change in self._terraform.plan() if change.is_change]

    def _note_absent(self, resources: Sequence[Resource], account: Account) -> None:
        for resource in resources:
            if not exists(account, resource):
                self._deployment.ledger.record(resource, State.DELETED)

    def _orphans(self, changes: Sequence[Change], account: Account) -> list[dict[str, str]]:
        """What would be created and exists: ours by the ledger, or else somebody's."""
        ours = {
            (entry.resource.kind, entry.resource.name)
            for entry in self._deployment.ledger.remaining()
        }
        found = []
        for change in changes:
            if not change.creates or change.kind not in TERRAFORM_KINDS:
                continue
            (resource,) = _named([change], account)
            if not exists(account, resource):
                continue
            if (resource.kind, resource.name) not in ours:
                raise InputError(
                    f"there is a {resource.kind} '{resource.name}' already, and it is not of this "
                    "deployment; choose another --name"
                )
            identity = TERRAFORM_KINDS[change.kind].import_id
            found.append({"to": change.address, "id": identity.format(name=resource.name)})
        return found

    def _upload(self, account: Account, model: Path, bucket: str, key: str) -> None:
        if exists(account, Resource("s3-object", f"{bucket}/{key}", account.region)):
            return
        self._progress.show(f"uploading {model.name}")
        with aws_errors(f"uploading {model}"):
            account.client("s3").upload_file(str(model), bucket, key)

    def _await_in_service(self, account: Account, name: str, configuration: str) -> None:
        until = time.monotonic() + READY_SECONDS
        while (status := _status(account, name)) in _CHANGING and time.monotonic() < until:
            self._progress.show(f"{name} is {status.lower()}")
            time.sleep(_POLL_SECONDS)
        with aws_errors(name):
            described = account.sagemaker.describe_endpoint(EndpointName=name)
        # After an update that failed, SageMaker serves the former configuration.
        if status != "InService" or described["EndpointConfigName"] != configuration:
            raise UnhealthyError(f"{name} is {status}: {described.get('FailureReason', '')}")

    def _first_answer(self, settings: Settings) -> float:
        self._progress.show(f"asking {settings.name}")
        try:
            return invoked(settings, drawn_body())[1]
        except PrumoError as error:
            raise UnhealthyError(f"it does not answer: {error}") from error

    def _certificate(self, account: Account) -> Path:
        """Look for everything once more, and write down that there is nothing."""
        entries = self._deployment.ledger.entries()
        resources = {(each.resource.kind, each.resource.name): each.resource for each in entries}
        looked_for = []
        for (kind, name), resource in resources.items():
            times = {each.state: each.time for each in entries if each.resource.name == name}
            looked_for.append(
                {
                    "kind": kind,
                    "name": name,
                    "region": resource.region,
                    "created": _text(times.get(State.CREATED) or times.get(State.INTENDED)),
                    "deleted": _text(times.get(State.DELETED)),
                    "found": exists(account, resource),
                    "by_hand": KINDS[kind].by_hand.format(name=name, region=resource.region),
                }
            )
        if still := [each["name"] for each in looked_for if each["found"]]:
            raise PrumoError(f"{', '.join(map(str, still))} came back after its removal")
        return self._deployment.write_certificate(
            {
                "deployment": self._deployment.name,
                "account": account.number,
                "looked_for": looked_for,
                "time": _text(datetime.now(UTC)),
            }
        )

    def _show(self, step: Step) -> None:
        doing = {"create": "creating", "delete": "removing", "update": "changing"}
        if not step.is_done:
            kind = step.address.split(".")[-2].removeprefix("aws_").replace("_", " ")
            self._progress.show(f"{doing.get(step.action, step.action)} {kind}")


def require_fit(settings: Settings) -> None:
    """Refuse an image for another processor than the instances have."""
    machine = image_architecture(settings.image)
    needed = architecture_of(settings.instance_type)
    if machine and machine != needed:
        where = settings.instance_type or "a serverless endpoint"
        raise InputError(
            f"the image {settings.image} is for {machine}, and {where} needs {needed}; build one "
            f"with --platform linux/{needed}"
        )


def endpoint_status(settings: Settings) -> str:
    """As SageMaker calls it, such as InService; empty where there is none."""
    return _status(Account(settings.region), settings.name)


def invoked(settings: Settings, body: Body) -> tuple[bytes, float]:
    """The answer of an endpoint, and its seconds."""
    runtime = Account(settings.region).client(
        "sagemaker-runtime", retries=False, read_seconds=ANSWER_SECONDS
    )
    began = time.monotonic()
    with aws_errors(settings.name):
        answer = runtime.invoke_endpoint(
            EndpointName=settings.name, ContentType=body.content_type, Body=body.content
        )
        content: bytes = answer["Body"].read()
    return content, time.monotonic() - began


class UnhealthyError(PrumoError):
    """The endpoint is there and does not answer."""


@dataclass(frozen=True)
class TerraformKind:
    """How a resource of Terraform is called in the ledger."""

    kind: str
    name_key: str = "name"
    import_id: str = "{name}"


# In the order in which they are created; the last is removed first.
TERRAFORM_KINDS = {
    "aws_s3_bucket": TerraformKind("s3-bucket", "bucket"),
    "aws_ecr_repository": TerraformKind("ecr-repository"),
    "aws_ecrpublic_repository": TerraformKind("ecr-public-repository", "repository_name"),
    "aws_iam_role": TerraformKind("iam-role"),
    "aws_cloudwatch_log_group": TerraformKind("log-group"),
    "aws_scheduler_schedule": TerraformKind("schedule", import_id="default/{name}"),
    "aws_cloudwatch_metric_alarm": TerraformKind("alarm", "alarm_name"),
    "aws_sagemaker_model": TerraformKind("sagemaker-model"),
    "aws_sagemaker_endpoint_configuration": TerraformKind("sagemaker-endpoint-config"),
    "aws_sagemaker_endpoint": TerraformKind("sagemaker-endpoint"),
}
"""What is created under a name of its own; everything else is part of one of these."""
STATEFUL_KINDS = frozenset({"aws_sagemaker_endpoint"})
"""What may exist and still be broken for good, so that only a new one helps."""


def _named(changes: Sequence[Change], account: Account) -> list[Resource]:
    order = list(TERRAFORM_KINDS)
    named = [change for change in changes if change.kind in TERRAFORM_KINDS]
    found = []
    for change in sorted(named, key=lambda change: order.index(change.kind)):
        known = TERRAFORM_KINDS[change.kind]
        values = change.after or change.before
        name = str(values[known.name_key])
        found.append(Resource(known.kind, name, account.region, account.number))
    return found


def _status(account: Account, name: str) -> str:
    endpoint = Resource("sagemaker-endpoint", name, account.region)
    if not exists(account, endpoint):
        return ""
    with aws_errors(name):
        return str(account.sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"])


def _now() -> datetime:
    return datetime.now(UTC)


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="seconds")
