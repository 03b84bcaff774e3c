"""What a deployment is about to create and change, shown before money is spent.

It is made of the settings and the ledger alone: neither AWS nor Terraform is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prumo_endpoint.deploy.artifacts import is_package
from prumo_endpoint.deploy.push import image_tag
from prumo_endpoint.deploy.stores import model_key
from prumo_endpoint.ledger import State
from prumo_endpoint.sagemaker.deployment import architecture_of

if TYPE_CHECKING:
    from prumo_endpoint.deploy.deployment import Deployment, Settings

# In the order in which they are created.
_KINDS = {
    "s3-bucket": "bucket",
    "ecr-repository": "repository",
    "iam-role": "role",
    "log-group": "log group",
    "schedule": "schedule",
    "alarm": "alarm",
    "sagemaker-model": "model",
    "sagemaker-endpoint-config": "configuration",
    "sagemaker-endpoint": "endpoint",
    "scalable-target": "scalable target",
    "scaling-policy": "scaling policy",
}
"""Kind in the ledger → what a person calls it."""
_FIELDS = {
    "memory_mb": "memory",
    "instance_type": "instance type",
    "max_concurrency": "concurrency",
    "provisioned_concurrency": "provisioned concurrency",
    "instances_max": "most instances",
    "expires_at": "deadline",
    "base": "base image",
}
"""Settings that become a change of what exists."""


@dataclass(frozen=True)
class DeploymentPlan:
    """What has to be made here, and created and changed in the account.

    >>> DeploymentPlan((), {"iam-role": 2, "alarm": 1}, {}).sentences("us-east-1")
    ['To be created in us-east-1: 2 roles, alarm']
    """

    makes: tuple[str, ...]
    """On this machine."""
    creates: Mapping[str, int]
    """Kind in the ledger → how many."""
    changes: Mapping[str, str]
    """Setting → before and after."""

    def sentences(self, region: str) -> list[str]:
        """At most one line for each part; none for a part without anything."""
        created = [
            name if count == 1 else f"{count} {name}s"
            for kind, name in _KINDS.items()
            if (count := self.creates.get(kind, 0))
        ]
        changed = [f"{name} {change}".strip() for name, change in self.changes.items()]
        parts = {
            "To be made here": self.makes,
            f"To be created in {region}": created,
            "To be changed": changed,
        }
        return [f"{title}: {', '.join(items)}" for title, items in parts.items() if items]


def plan_of(deployment: Deployment, settings: Settings) -> DeploymentPlan:
    """Of settings that are wanted, against what the deployment's folder says exists."""
    remaining = deployment.ledger.remaining()
    exists = Counter(each.resource.kind for each in remaining if each.state is State.CREATED)
    before = deployment.settings() if exists else None
    return DeploymentPlan(
        makes=_makes(settings),
        creates=dict(_wanted(settings) - exists),
        changes={} if before is None else _changes(before, settings),
    )


def _makes(settings: Settings) -> tuple[str, ...]:
    made = []
    if settings.model is not None and not is_package(Path(settings.model)):
        made.append(f"package of {Path(settings.model).name}")
    if not settings.image:
        machine = architecture_of(settings.instance_type)
        made.append(f"image for {machine} on {settings.base}")
    return tuple(made)


def _wanted(settings: Settings) -> Counter[str]:
    kinds = Counter(dict.fromkeys(_KINDS, 1))
    if settings.expires_at is None:
        del kinds["schedule"]
    else:
        kinds["iam-role"] += 1
    if not settings.scales:
        del kinds["scalable-target"], kinds["scaling-policy"]
    return kinds


def _changes(before: Settings, after: Settings) -> dict[str, str]:
    changes = {
        name: f"{_text(getattr(before, field))} → {_text(getattr(after, field))}"
        for field, name in _FIELDS.items()
        if getattr(before, field) != getattr(after, field)
    }
    package = Path(after.model or "")
    if is_package(package) and before.model_key != model_key(package):
        changes["model"] = ""
    if after.image and before.image_tag != image_tag(after.image):
        changes["image"] = ""
    return changes


def _text(value: object) -> str:
    return "none" if value is None else str(value)
