"""The proof that nothing is left of a deployment: everything is looked for once more."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prumo.errors import PrumoError
from prumo_endpoint.deploy.leftovers import TAGS, is_named, tagged_arns
from prumo_endpoint.ledger import State
from prumo_endpoint.sagemaker.account import Account, AccountError
from prumo_endpoint.sagemaker.resources import by_hand, exists

if TYPE_CHECKING:
    from prumo_endpoint.deploy.deployment import Deployment


def certificate(deployment: Deployment, account: Account) -> dict[str, Any]:
    """What was created, when it was deleted, and what was looked for by name and by tag.

    Raises:
        PrumoError: Something is there.
    """
    entries = deployment.ledger.entries()
    resources = {each.resource.key: each.resource for each in entries}
    accounts = {account.region: account}
    looked_for, taken = [], set()
    for key, resource in resources.items():
        times = {each.state: each.time for each in entries if each.resource.key == key}
        if resource.region not in accounts:
            accounts[resource.region] = Account(resource.region)
        found = exists(accounts[resource.region], resource)
        if found and State.DELETED in times and State.CREATED not in times:
            # Announced and never created here: somebody else has taken the name.
            taken.add(resource.name)
            continue
        looked_for.append(
            {
                "kind": resource.kind,
                "name": resource.name,
                "region": resource.region,
                "created": _text(times.get(State.CREATED) or times.get(State.INTENDED)),
                "deleted": _text(times.get(State.DELETED)),
                "found": found,
                "by_hand": by_hand([resource])[0],
            }
        )
    if still := [each["name"] for each in looked_for if each["found"]]:
        raise PrumoError(f"{', '.join(map(str, still))} came back after its removal")
    return {
        "deployment": deployment.name,
        "account": account.number,
        "looked_for": looked_for,
        "names_of_others": sorted(taken),
        "tag": _by_tag(
            deployment.name, account, {each.name for each in resources.values()} - taken
        ),
        "time": _text(datetime.now(UTC)),
    }


def _by_tag(name: str, account: Account, gone: set[str]) -> dict[str, Any]:
    """All that AWS lists under the deployment's tag; it may list for hours what is gone."""
    query: dict[str, Any] = {"key": TAGS[0], "value": name}
    try:
        arns = tagged_arns(account, TAGS[0], name)
    except AccountError as error:
        if not error.is_refusal:
            raise
        return {**query, "not_asked": str(error)}
    if unknown := [arn for arn in arns if not is_named(arn, gone)]:
        raise PrumoError(
            f"{', '.join(unknown)}: not in the ledger and tagged {TAGS[0]}={name}; unless another "
            f"deployment has this name, remove it by hand, then prumo endpoint destroy {name} again"
        )
    return {**query, "listed_though_gone": arns}


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="seconds")
