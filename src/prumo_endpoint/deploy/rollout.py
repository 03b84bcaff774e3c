"""An endpoint is brought up, changed and taken down: each step can be cut off and done again.

What is about to be created is in the ledger first. After a crash the ledger may know of a resource
that Terraform's state does not: it is then looked for in the account and taken back into the state.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, PrumoError, UnavailableError
from prumo.files import write_json
from prumo_endpoint.deploy.certificate import certificate
from prumo_endpoint.deploy.deployment import IMPORTS_FILE, Backend, Deployment, Settings
from prumo_endpoint.deploy.health import (
    UnhealthyError,
    await_in_service,
    first_answer_seconds,
    status_of,
)
from prumo_endpoint.deploy.parts import (
    STATEFUL_TYPES,
    STORE_TYPES,
    Part,
    bucket_name,
    missing_parts,
    parts_in_state,
    stores,
    wanted_parts,
)
from prumo_endpoint.deploy.push import image_architecture, image_tag, push_image
from prumo_endpoint.deploy.stores import create_store, model_key, upload_model
from prumo_endpoint.deploy.terraform import Step, Terraform, TerraformError
from prumo_endpoint.ledger import State
from prumo_endpoint.sagemaker.account import BAD_CREDENTIALS, Account, AccountError, aws_errors
from prumo_endpoint.sagemaker.deployment import architecture_of
from prumo_endpoint.sagemaker.preflight import quota_lines
from prumo_endpoint.sagemaker.resources import ENDPOINT, KINDS, Removal, exists

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from prumo.progress import Progress

PATIENCE_SECONDS = 600.0


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
        self._steps = 0
        """Of Terraform, until now."""

    @cached_property
    def _terraform(self) -> Terraform:
        return Terraform(self._deployment.terraform_path)

    def deploy(self, settings: Settings) -> Answering:
        """Bring it up, or change it; back to what it was where the new version is not healthy."""
        deployment = self._deployment
        self._progress.show(f"asking AWS, and {Path(self._terraform.program).name}")
        account = _account(settings.region)
        with deployment.locked():
            before = deployment.settings()
            if before is not None:
                self._require_same_place(before, settings, account)
            self._require_quota(account, settings)
            model = settings.model
            settings = replace(
                settings,
                account=account.number,
                image_tag=image_tag(settings.image),
                model_key=None if model is None else model_key(Path(model)),
            )
            healthy = deployment.healthy_settings()
            was_up = status_of(account, settings.name) == "InService"
            try:
                return self._bring_up(account, settings)
            except (TerraformError, UnhealthyError) as error:
                has_changed = isinstance(error, UnhealthyError) or error.has_begun
                if healthy is None or not was_up or not has_changed or healthy == settings:
                    raise self._half_way(error) from error
                self._progress.say(f"not healthy, going back: {error}")
                try:
                    self._bring_up(account, replace(healthy, expires_at=settings.expires_at))
                except PrumoError as second:
                    both = PrumoError(
                        f"the new version is not healthy: {error}; the former one could not be "
                        f"put back: {second}"
                    )
                    raise self._half_way(both) from error
                raise PrumoError(
                    f"the new version is not healthy and the former one answers again: {error}"
                ) from error
            except PrumoError as error:
                raise self._half_way(error) from error

    def _require_same_place(self, before: Settings, settings: Settings, account: Account) -> None:
        if not self._deployment.ledger.remaining():
            return
        account.require_number(before.account, settings.name)
        name, folder = settings.name, self._deployment.terraform_path
        if before.region != settings.region:
            raise InputError(f"{name} is in {before.region}; to move it, destroy it first")
        if before.state != settings.state:
            where = "in its folder" if before.state is None else f"in {before.state}"
            given = "no --state" if before.state is None else f"--state {before.state}"
            raise InputError(
                f"the state of {name} is {where}: give {given} as before. To move it, change "
                f"{folder}/backend.tf.json, run `terraform init -migrate-state` there, and write "
                f'the new place as "state" into {self._deployment.path}/deployment.json'
            )

    def _half_way(self, error: PrumoError) -> PrumoError:
        """The error, and what to do about what exists already."""
        if not self._deployment.ledger.remaining():
            return PrumoError(str(error))
        return PrumoError(
            f"{error}. What was created exists and may cost money: run the same command again, or "
            f"prumo endpoint destroy {self._deployment.name}"
        )

    def _require_quota(self, account: Account, settings: Settings) -> None:
        instances = (
            {}
            if settings.instance_type is None
            else {settings.instance_type: settings.instances_max}
        )
        for line in quota_lines(account, instances, settings.memory_mb or 0):
            self._progress.say(line)

    def destroy(self) -> Path:
        """Take everything down; a certificate of what was created and is gone."""
        deployment = self._deployment
        with deployment.locked():
            settings = deployment.settings()
            if settings is None:
                raise InputError(f"{deployment.path} has no deployment")
            account = _account(settings.region)
            account.require_number(settings.account, settings.name)
            by_ledger = False
            try:
                self._destroy_by_terraform(settings, account)
            except (TerraformError, UnavailableError) as error:
                by_ledger = True
                self._progress.say(f"Terraform failed, removing by the ledger: {error}")
            removal = Removal(deployment.ledger, self._progress.say)
            if remains := removal.remove(PATIENCE_SECONDS):
                listed = ", ".join(f"{each.kind} {each.name}" for each in remains)
                raise PrumoError(
                    f"not everything could be removed: {listed}: {removal.last_error}. "
                    f"Try again: prumo endpoint destroy {deployment.name}"
                )
            if by_ledger:
                deployment.put_state_away()
            deployment.forget_version()
            proof = certificate(deployment, account)
            if others := proof["names_of_others"]:
                self._progress.say(f"not of this deployment, and left alone: {', '.join(others)}")
            return deployment.write_certificate(proof)

    def _destroy_by_terraform(self, settings: Settings, account: Account) -> None:
        ledger = self._deployment.ledger
        self._write_imports([])
        self._deployment.write_configuration(settings.variables(endpoint=False), self._backend)
        with self._terraform.initialised():
            self._progress.show("preparing Terraform")
        state = self._state(account)
        # What the state knows and an older ledger does not.
        noted = {entry.resource.key for entry in ledger.remaining()}
        for part in state:
            if part.resource.key not in noted:
                ledger.record(part.resource, State.CREATED)
        if state:
            self._terraform.apply(self._show, destroy=True)

    def _bring_up(self, account: Account, settings: Settings) -> Answering:
        deployment, terraform = self._deployment, self._terraform
        if settings.expires_at and datetime.fromisoformat(settings.expires_at) <= _now():
            raise InputError(
                f"the deadline {settings.expires_at} has passed; give a new --expires, or `never`"
            )
        deployment.write_settings(settings)
        deployment.write_configuration(settings.variables(), self._backend)
        self._progress.show("preparing Terraform")
        if self._backend.is_remote:
            # Only then can it be asked for the state.
            with terraform.initialised():
                pass
        ours = {entry.resource.key for entry in deployment.ledger.remaining()}
        steps = self._steps
        with terraform.initialised():
            known = self._state(account)
            parts = [*stores(settings, account), *wanted_parts(settings, account)]
            fresh, orphans = missing_parts(parts, known, ours, account)
            created = [part for part in fresh if part.type in STORE_TYPES]
            for part in created:
                with self._announced([part], account, ours):
                    create_store(account, part.resource, is_ours=part.resource.key in ours)
                deployment.ledger.record(part.resource, State.CREATED)
            push_image(
                settings.image,
                account.image(settings.name),
                str(settings.image_tag),
                account,
                self._progress,
            )
            if settings.model is not None and settings.model_key is not None:
                model, key = Path(settings.model), settings.model_key
                upload_model(account, model, bucket_name(settings), key, self._progress)
        waited_for = [part for part in fresh if part not in created]
        with self._announced(waited_for, account, ours):
            outputs = self._applied(account, known, [*orphans, *created], waited_for, ours)
        self._note_state(account)
        self._write_imports([])
        await_in_service(account, settings.name, outputs["configuration_name"], self._progress)
        seconds = first_answer_seconds(settings, self._progress)
        deployment.write_settings(settings, healthy=True)
        is_changed = bool(created) or self._steps > steps
        return Answering(outputs["endpoint_url"], seconds, is_changed)

    @contextmanager
    def _announced(
        self, parts: Sequence[Part], account: Account, ours: Collection[tuple[str, str, str]]
    ) -> Iterator[None]:
        """They are in the ledger while they are created; what fails to be is taken back.

        What stayed there would count as ours when somebody else takes its name.
        """
        ledger = self._deployment.ledger
        for part in parts:
            ledger.record(part.resource, State.INTENDED)
        try:
            yield
        except BaseException as error:
            for part in (each for each in parts if each.resource.key not in ours):
                # Where AWS cannot be asked, it may exist.
                with suppress(AccountError):
                    # An input error says that the name is taken.
                    if isinstance(error, InputError) or not exists(account, part.resource):
                        ledger.record(part.resource, State.DELETED)
            raise

    def _applied(
        self,
        account: Account,
        known: Sequence[Part],
        orphans: Sequence[Part],
        fresh: Sequence[Part],
        ours: Collection[tuple[str, str, str]],
    ) -> dict[str, Any]:
        """The outputs, when Terraform has created what is fresh and taken in the orphans."""
        try:
            outputs = self._apply(known, orphans)
        except TerraformError:
            known = self._state(account)
            fresh, late = missing_parts(
                fresh, known, {part.resource.key for part in fresh}, account
            )
            others = [part for part in late if part.resource.key not in ours]
            if others or not late:
                # Neither what was not created is ours, nor what somebody else has created.
                for part in [*fresh, *others]:
                    self._deployment.ledger.record(part.resource, State.DELETED)
                for resource in (part.resource for part in others):
                    self._progress.say(
                        f"the {resource.kind} '{resource.name}' exists, but Terraform did not "
                        "create it: it does not count as this deployment's"
                    )
                raise
            # The call of a run that was killed has arrived only now.
            in_state = {part.resource.key for part in known}
            waiting = [part for part in orphans if part.resource.key not in in_state]
            outputs = self._apply(known, [*waiting, *late])
        return outputs

    def _apply(self, known: Sequence[Part], orphans: Sequence[Part]) -> dict[str, Any]:
        for part in known:
            # Cut off while it was created, but there: its replacement would want the same name.
            if part.is_tainted and part.type not in STATEFUL_TYPES:
                self._terraform.untaint(part.address)
        # Another version has its place in the state; that one is still in the ledger.
        for address in {part.address for part in known} & {part.address for part in orphans}:
            self._terraform.forget(address)
        self._write_imports(orphans)
        self._progress.show("asking what has to change")
        return self._terraform.apply(self._show)

    def _note_state(self, account: Account) -> None:
        """Note what exists now, and remove former versions that Terraform has forgotten."""
        ledger = self._deployment.ledger
        known = {part.resource.key: part.resource for part in self._state(account)}
        if all(resource.kind != ENDPOINT for resource in known.values()):
            raise TerraformError(
                "Terraform has created the endpoint, and its state is not where it should be: do "
                "TF_CLI_ARGS or TF_CLI_ARGS_apply name another? Nothing was removed"
            )
        noted = {entry.resource.key: entry.state for entry in ledger.remaining()}
        for key, resource in known.items():
            if noted.get(key) is not State.CREATED:
                ledger.record(resource, State.CREATED)
        former = [each for each in ledger.remaining() if each.resource.key not in known]
        for resource in (entry.resource for entry in former):
            if exists(account, resource):
                with aws_errors(f"{resource.kind} {resource.name}"):
                    KINDS[resource.kind].delete(account, resource.name)
            if not exists(account, resource):
                ledger.record(resource, State.DELETED)

    def _state(self, account: Account) -> list[Part]:
        return parts_in_state(self._terraform.state(is_remote=self._backend.is_remote), account)

    def _write_imports(self, orphans: Sequence[Part]) -> None:
        path = self._deployment.terraform_path / IMPORTS_FILE
        path.unlink(missing_ok=True)
        if orphans:
            write_json(path, {"import": [part.import_block for part in orphans]})

    def _show(self, step: Step) -> None:
        doing = {"create": "creating", "delete": "removing", "update": "changing"}
        self._steps += 1
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


def _account(region: str) -> Account:
    """With credentials that work."""
    account = Account(region)
    try:
        account.number  # noqa: B018 (asked for here, before anything is written)
    except AccountError as error:
        if error.code not in BAD_CREDENTIALS:
            raise
        raise AccountError(
            f"{error}; renew them with `aws sso login` or new keys, then run the same command "
            "again",
            error.code,
        ) from error
    return account


def _now() -> datetime:
    return datetime.now(UTC)
