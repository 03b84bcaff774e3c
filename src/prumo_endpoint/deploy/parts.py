"""What a deployment consists of in an account: known by name before Terraform is asked.

So the ledger has every part before it is created, and what a killed run left behind is found and
taken back into Terraform's state without a plan.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError
from prumo_endpoint.ledger import Resource
from prumo_endpoint.sagemaker.account import AccountError
from prumo_endpoint.sagemaker.resources import (
    ALARM,
    BUCKET,
    BUDGET,
    ENDPOINT,
    ENDPOINT_CONFIG,
    LOG_GROUP,
    MODEL,
    PUBLIC_REPOSITORY,
    REPOSITORY,
    ROLE,
    SCALABLE_TARGET,
    SCALING_DIMENSION,
    SCALING_POLICY,
    SCHEDULE,
    exists,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from prumo_endpoint.deploy.deployment import Settings
    from prumo_endpoint.sagemaker.account import Account

VARIANT = "AllTraffic"
"""As the Terraform module calls the only one."""
_HASH_LENGTH = 8


@dataclass(frozen=True)
class TerraformKind:
    """How a resource of Terraform is called in the ledger."""

    kind: str
    name: str = "{name}"
    """Of its attributes."""
    import_id: str = "{name}"
    """Of its name in the ledger."""


# In the order in which they are created; the last is removed first.
TERRAFORM_KINDS = {
    "aws_s3_bucket": TerraformKind(BUCKET, "{bucket}"),
    "aws_ecr_repository": TerraformKind(REPOSITORY),
    "aws_ecrpublic_repository": TerraformKind(PUBLIC_REPOSITORY, "{repository_name}"),
    "aws_iam_role": TerraformKind(ROLE),
    "aws_cloudwatch_log_group": TerraformKind(LOG_GROUP),
    "aws_budgets_budget": TerraformKind(BUDGET),
    "aws_scheduler_schedule": TerraformKind(SCHEDULE, import_id="default/{name}"),
    "aws_cloudwatch_metric_alarm": TerraformKind(ALARM, "{alarm_name}"),
    "aws_sagemaker_model": TerraformKind(MODEL),
    "aws_sagemaker_endpoint_configuration": TerraformKind(ENDPOINT_CONFIG),
    "aws_sagemaker_endpoint": TerraformKind(ENDPOINT),
    "aws_appautoscaling_target": TerraformKind(
        SCALABLE_TARGET, "{resource_id}", f"sagemaker/{{name}}/{SCALING_DIMENSION}"
    ),
    "aws_appautoscaling_policy": TerraformKind(
        SCALING_POLICY,
        "{resource_id}/{name}",
        f"sagemaker/{{parent}}/{SCALING_DIMENSION}/{{last}}",
    ),
}
"""What is created under a name of its own; everything else is part of one of these."""
STATEFUL_TYPES = frozenset({"aws_sagemaker_endpoint"})
"""What may exist and still be broken for good, so that only a new one helps."""
STORE_TYPES = frozenset({"aws_s3_bucket", "aws_ecr_repository"})
"""What has to be filled before the endpoint can be created: made first, then imported."""


@dataclass(frozen=True)
class Part:
    """A resource, and where Terraform's configuration has it."""

    address: str
    """Such as `module.endpoint[0].aws_sagemaker_model.this`."""
    resource: Resource
    is_tainted: bool = False
    """Whether its creation was cut off, for which Terraform would replace it."""
    is_deposed: bool = False
    """Whether Terraform has replaced it and is about to remove it."""

    @property
    def type(self) -> str:
        """Such as `aws_sagemaker_model`."""
        return self.address.split(".")[-2]

    @property
    def import_block(self) -> dict[str, str]:
        """What takes it into the state."""
        name = self.resource.name
        parent, _, last = name.rpartition("/")
        identity = TERRAFORM_KINDS[self.type].import_id
        return {"to": self.address, "id": identity.format(name=name, parent=parent, last=last)}


def wanted_parts(settings: Settings, account: Account) -> list[Part]:
    """Of an endpoint, in the order in which they are created."""
    name, endpoint = settings.name, "module.endpoint[0]."
    model, configuration = version_names(settings, account.image(settings.name))
    target = f"endpoint/{name}/variant/{VARIANT}"
    names = {
        "module.execution_role.aws_iam_role.endpoint": f"{name}-{settings.region}",
        f"{endpoint}aws_cloudwatch_log_group.this": f"/aws/sagemaker/Endpoints/{name}",
        f"{endpoint}aws_cloudwatch_metric_alarm.errors": f"{name}-errors",
    }
    if settings.expires_at is not None:
        names[f"{endpoint}aws_iam_role.expiry[0]"] = f"{name}-expiry"
        names[f"{endpoint}aws_scheduler_schedule.expiry[0]"] = f"{name}-expiry"
    names |= {
        f"{endpoint}aws_sagemaker_model.this": model,
        f"{endpoint}aws_sagemaker_endpoint_configuration.this": configuration,
        f"{endpoint}aws_sagemaker_endpoint.this": name,
    }
    if settings.scales:
        names[f"{endpoint}aws_appautoscaling_target.instances[0]"] = target
        names[f"{endpoint}aws_appautoscaling_policy.instances[0]"] = f"{target}/{name}-invocations"
    return [_part(address, each, account) for address, each in names.items()]


def stores(settings: Settings, account: Account) -> tuple[Part, Part]:
    """The bucket of its models and the repository of its images."""
    bucket, repository = bucket_name(settings), settings.name
    return (
        _part("module.model_bucket.aws_s3_bucket.models", bucket, account),
        _part("module.private_repository.aws_ecr_repository.images", repository, account),
    )


def bucket_name(settings: Settings) -> str:
    """Of its models."""
    return f"{settings.name}-{settings.account}"


def version_names(settings: Settings, repository_url: str) -> tuple[str, str]:
    """Of the model and of the configuration, which contain what they are made of, as in Terraform.

    Where the two differ, the ledger has the right names only after they were created.
    """
    variables = settings.variables()
    key, serverless = settings.model_key, variables.get("serverless")
    realtime = variables.get("realtime")
    if realtime is not None:
        realtime = {"instances_min": 1, "invocations_per_minute": 600, **realtime}
    model: dict[str, Any] = {
        "image": f"{repository_url}:{settings.image_tag}",
        "model_url": None if key is None else f"s3://{bucket_name(settings)}/{key}",
        "environment": {},
        "is_isolated": serverless is None,
    }
    capacity = {"realtime": realtime, "serverless": serverless, "kms_key_arn": None}
    model_name = f"{settings.name}-{_hash(model)}"
    return model_name, f"{settings.name}-{_hash([model_name, capacity])}"


def parts_in_state(state: Mapping[str, Any], account: Account) -> list[Part]:
    """What Terraform knows of, in the order of creation."""
    found = []
    for resource in state.get("resources", ()):
        known = TERRAFORM_KINDS.get(resource["type"])
        if resource["mode"] != "managed" or known is None:
            continue
        base = ".".join(filter(None, [resource.get("module"), resource["type"], resource["name"]]))
        for instance in resource["instances"]:
            index = instance.get("index_key")
            address = base if index is None else f"{base}[{json.dumps(index)}]"
            name = known.name.format(**instance["attributes"])
            is_deposed = "deposed" in instance
            is_tainted = instance.get("status") == "tainted" and not is_deposed
            part = _part(address, name, account)
            found.append(replace(part, is_tainted=is_tainted, is_deposed=is_deposed))
    order = list(TERRAFORM_KINDS)
    return sorted(found, key=lambda part: order.index(part.type))


def missing_parts(
    parts: Sequence[Part],
    known: Sequence[Part],
    ours: Collection[tuple[str, str, str]],
    account: Account,
) -> tuple[list[Part], list[Part]]:
    """What has to be created, and what exists and is ours though Terraform does not know of it.

    Its state may be older than a removal without Terraform: stores, which are made without it, and
    what the ledger does not have are looked for even where the state has them.

    Raises:
        InputError: Something is there already, and somebody else's.
    """
    # A former version that is wanted again has to be saved from its removal.
    in_state = {part.resource.key for part in known if not part.is_deposed}
    fresh, orphans = [], []
    for part in parts:
        resource = part.resource
        is_known = resource.key in in_state
        if is_known and resource.key in ours and part.type not in STORE_TYPES:
            continue
        if not _is_there(account, resource):
            fresh.append(part)
        elif is_known:
            continue
        elif resource.key in ours:
            orphans.append(part)
        else:
            raise InputError(
                f"there is a {resource.kind} '{resource.name}' already, and it is not of this "
                "deployment; choose another --name"
            )
    return fresh, orphans


def _is_there(account: Account, resource: Resource) -> bool:
    try:
        return exists(account, resource)
    except AccountError as error:
        if resource.kind == BUCKET and error.is_refusal:
            raise InputError(f"{error}; choose another --name") from error
        raise


def _part(address: str, name: str, account: Account) -> Part:
    kind = TERRAFORM_KINDS[address.split(".")[-2]].kind
    return Part(address, Resource(kind, name, account.region, account.number))


def _hash(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:_HASH_LENGTH]
