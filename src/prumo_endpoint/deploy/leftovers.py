"""What Prumo made in an account and nobody removed: by the ledgers, and by the tags of AWS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo_endpoint.sagemaker.account import Account, aws_errors
from prumo_endpoint.sagemaker.resources import exists

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo_endpoint.deploy.deployment import Deployment

TAGS = ("prumo:endpoint", "prumo")
"""Of deployments, and of what studies create."""


@dataclass(frozen=True)
class Leftover:
    """Something that exists."""

    name: str
    deployment: str
    """Whose it is; empty where no ledger here knows it."""
    remove: str
    """How to remove it."""


def find_leftovers(region: str, known: Iterable[Deployment]) -> list[Leftover]:
    """Everything of a region that has a tag of Prumo's, or that a ledger says may exist."""
    account = Account(region)
    found: list[Leftover] = []
    names: set[str] = set()
    for deployment in known:
        for entry in deployment.ledger.remaining():
            resource = entry.resource
            if resource.region == region and exists(account, resource):
                name = f"{resource.kind} {resource.name}"
                remove = f"prumo endpoint destroy {deployment.name}"
                found.append(Leftover(name, deployment.name, remove))
                names.add(resource.name)
    found += [
        Leftover(arn, "", "no ledger here has it; remove it by hand")
        for tag in TAGS
        for arn in tagged_arns(account, tag)
        if not is_named(arn, names)
    ]
    return found


def tagged_arns(account: Account, key: str, value: str | None = None) -> list[str]:
    """Everything of a region with a tag, whatever its value or with this one."""
    wanted = {"Key": key} if value is None else {"Key": key, "Values": [value]}
    tagging = account.client("resourcegroupstaggingapi")
    with aws_errors("looking for tags"):
        pages = list(tagging.get_paginator("get_resources").paginate(TagFilters=[wanted]))
    return [each["ResourceARN"] for page in pages for each in page["ResourceTagMappingList"]]


def is_named(arn: str, names: Iterable[str]) -> bool:
    """Whether it is the ARN of one of these."""
    # Names end an ARN, after a colon or a slash; those of log groups contain slashes.
    return any(arn.endswith((f":{name}", f"/{name}", f":{name}:*")) for name in names)
