"""What an endpoint consists of in an account: how each part is looked for and removed.

Removing is verified by looking, not by return codes: a resource counts as deleted when the account
says that there is none of its name.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prumo.backoff import Backoff
from prumo.errors import StorageError
from prumo_endpoint.ledger import Entry, Ledger, Resource, State
from prumo_endpoint.sagemaker.account import Account, AccountError, aws_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

ENDPOINT = "sagemaker-endpoint"
ENDPOINT_CONFIG = "sagemaker-endpoint-config"
MODEL = "sagemaker-model"
BUCKET = "s3-bucket"
OBJECT = "s3-object"
ROLE = "iam-role"
REPOSITORY = "ecr-repository"
PUBLIC_REPOSITORY = "ecr-public-repository"
LOG_GROUP = "log-group"
SCHEDULE = "schedule"
ALARM = "alarm"
BUDGET = "budget"
SCALABLE_TARGET = "scalable-target"
"""Named by the variant that it scales, `endpoint/NAME/variant/VARIANT`."""
SCALING_POLICY = "scaling-policy"
"""Named by its target and, after a slash, its own name."""
SCALING_DIMENSION = "sagemaker:variant:DesiredInstanceCount"
_PUBLIC_REGION = "us-east-1"
"""The only one that has public repositories."""
_REMOVED_FIRST = (SCALING_POLICY, SCALABLE_TARGET, ENDPOINT, ENDPOINT_CONFIG, MODEL, SCHEDULE)
_WAITS_FOR = {
    SCALING_POLICY: frozenset[str](),
    SCALABLE_TARGET: frozenset[str](),
    ENDPOINT: frozenset[str](),
    MODEL: frozenset({ENDPOINT, ENDPOINT_CONFIG}),
    ROLE: frozenset({ENDPOINT, SCHEDULE}),
}
"""Kind → what has to be gone before; of all others the endpoint, which costs money and uses them.
So a schedule that is to delete the endpoint stays until it is gone."""
# A call that created a resource may still be on its way when its process has died.
_LATE_SECONDS = 10.0
_NOT_FOUND = frozenset(
    {
        "404",
        "NoSuchBucket",
        "NoSuchKey",
        "NotFound",
        "ResourceNotFound",
        "NoSuchEntity",
        "RepositoryNotFoundException",
        "ResourceNotFoundException",
        "NotFoundException",
        "ObjectNotFoundException",
    }
)


@dataclass(frozen=True)
class Kind:
    """How resources of a kind are looked for, removed, and removed by hand."""

    describe: Callable[[Account, str], Any]
    delete: Callable[[Account, str], Any]
    by_hand: str


def _describe_bucket(account: Account, name: str) -> None:
    from botocore.exceptions import ClientError  # noqa: PLC0415 (large)

    try:
        account.client("s3").head_bucket(Bucket=name)
    except ClientError as error:
        # Without a body, S3 says no more than this.
        if error.response["Error"]["Code"] == "403":
            raise AccountError(
                f"the bucket name {name} is taken by another account, or these credentials may "
                "not see the bucket",
                "AccessDenied",
            ) from error
        raise


def _delete_bucket(account: Account, name: str) -> None:
    s3 = account.client("s3")
    # With versioning, all of them.
    while True:
        page = s3.list_object_versions(Bucket=name)
        versions = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
        if not versions:
            break
        keys = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in versions]
        said = s3.delete_objects(Bucket=name, Delete={"Objects": keys})
        if failed := said.get("Errors"):
            reason = f"{failed[0]['Key']}: {failed[0]['Message']}"
            raise AccountError(f"cannot empty bucket {name}: {reason}", failed[0]["Code"])
    s3.delete_bucket(Bucket=name)


def _delete_role(account: Account, name: str) -> None:
    iam = account.client("iam")
    for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
        iam.delete_role_policy(RoleName=name, PolicyName=policy)
    for attached in iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]:
        iam.detach_role_policy(RoleName=name, PolicyArn=attached["PolicyArn"])
    iam.delete_role(RoleName=name)


def _public_repositories() -> Any:  # noqa: ANN401 (boto3 has no types)
    return Account(_PUBLIC_REGION).client("ecr-public")


def _describe_log_group(account: Account, name: str) -> None:
    groups = account.client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    if all(group["logGroupName"] != name for group in groups):
        raise AccountError(f"no log group {name}", "ResourceNotFound")


def _object(name: str) -> dict[str, str]:
    bucket, _, key = name.partition("/")
    return {"Bucket": bucket, "Key": key}


def _describe_alarm(account: Account, name: str) -> None:
    if not account.client("cloudwatch").describe_alarms(AlarmNames=[name])["MetricAlarms"]:
        raise AccountError(f"no alarm {name}", "ResourceNotFound")


def _scaling(name: str) -> dict[str, str]:
    return {
        "ServiceNamespace": "sagemaker",
        "ResourceId": name,
        "ScalableDimension": SCALING_DIMENSION,
    }


def _describe_target(account: Account, name: str) -> None:
    client = account.client("application-autoscaling")
    said = client.describe_scalable_targets(ServiceNamespace="sagemaker", ResourceIds=[name])
    if not said["ScalableTargets"]:
        raise AccountError(f"no scalable target {name}", "ResourceNotFound")


def _describe_policy(account: Account, name: str) -> None:
    target, _, policy = name.rpartition("/")
    client = account.client("application-autoscaling")
    said = client.describe_scaling_policies(**_scaling(target))
    if all(each["PolicyName"] != policy for each in said["ScalingPolicies"]):
        raise AccountError(f"no scaling policy {name}", "ResourceNotFound")


def _delete_policy(account: Account, name: str) -> None:
    target, _, policy = name.rpartition("/")
    client = account.client("application-autoscaling")
    client.delete_scaling_policy(PolicyName=policy, **_scaling(target))


KINDS = {
    ENDPOINT: Kind(
        lambda account, name: account.sagemaker.describe_endpoint(EndpointName=name),
        lambda account, name: account.sagemaker.delete_endpoint(EndpointName=name),
        "aws sagemaker delete-endpoint --region {region} --endpoint-name {name}",
    ),
    ENDPOINT_CONFIG: Kind(
        lambda account, name: account.sagemaker.describe_endpoint_config(EndpointConfigName=name),
        lambda account, name: account.sagemaker.delete_endpoint_config(EndpointConfigName=name),
        "aws sagemaker delete-endpoint-config --region {region} --endpoint-config-name {name}",
    ),
    MODEL: Kind(
        lambda account, name: account.sagemaker.describe_model(ModelName=name),
        lambda account, name: account.sagemaker.delete_model(ModelName=name),
        "aws sagemaker delete-model --region {region} --model-name {name}",
    ),
    ROLE: Kind(
        lambda account, name: account.client("iam").get_role(RoleName=name),
        _delete_role,
        "aws iam list-role-policies --role-name {name} --query PolicyNames --output text "
        "| xargs -rn1 aws iam delete-role-policy --role-name {name} --policy-name; "
        "aws iam list-attached-role-policies --role-name {name} "
        "--query 'AttachedPolicies[].PolicyArn' --output text "
        "| xargs -rn1 aws iam detach-role-policy --role-name {name} --policy-arn; "
        "aws iam delete-role --role-name {name}",
    ),
    REPOSITORY: Kind(
        lambda account, name: account.client("ecr").describe_repositories(repositoryNames=[name]),
        lambda account, name: account.client("ecr").delete_repository(
            repositoryName=name, force=True
        ),
        "aws ecr delete-repository --force --region {region} --repository-name {name}",
    ),
    PUBLIC_REPOSITORY: Kind(
        lambda _, name: _public_repositories().describe_repositories(repositoryNames=[name]),
        lambda _, name: _public_repositories().delete_repository(repositoryName=name, force=True),
        f"aws ecr-public delete-repository --force --region {_PUBLIC_REGION} "
        "--repository-name {name}",
    ),
    LOG_GROUP: Kind(
        _describe_log_group,
        lambda account, name: account.client("logs").delete_log_group(logGroupName=name),
        "aws logs delete-log-group --region {region} --log-group-name {name}",
    ),
    SCHEDULE: Kind(
        lambda account, name: account.client("scheduler").get_schedule(Name=name),
        lambda account, name: account.client("scheduler").delete_schedule(Name=name),
        "aws scheduler delete-schedule --region {region} --name {name}",
    ),
    ALARM: Kind(
        _describe_alarm,
        lambda account, name: account.client("cloudwatch").delete_alarms(AlarmNames=[name]),
        "aws cloudwatch delete-alarms --region {region} --alarm-names {name}",
    ),
    SCALABLE_TARGET: Kind(
        _describe_target,
        lambda account, name: account.client("application-autoscaling").deregister_scalable_target(
            **_scaling(name)
        ),
        "aws application-autoscaling deregister-scalable-target --region {region} "
        f"--service-namespace sagemaker --scalable-dimension {SCALING_DIMENSION} "
        "--resource-id {name}",
    ),
    SCALING_POLICY: Kind(
        _describe_policy,
        _delete_policy,
        # A policy goes with its target.
        "aws application-autoscaling describe-scaling-policies --region {region} "
        "--service-namespace sagemaker",
    ),
    BUDGET: Kind(
        lambda account, name: account.client("budgets").describe_budget(
            AccountId=account.number, BudgetName=name
        ),
        lambda account, name: account.client("budgets").delete_budget(
            AccountId=account.number, BudgetName=name
        ),
        "aws budgets delete-budget --account-id ACCOUNT --budget-name {name}",
    ),
    BUCKET: Kind(
        _describe_bucket,
        _delete_bucket,
        # Of a bucket with versions, the second alone leaves the former ones and fails.
        "aws s3api list-object-versions --region {region} --bucket {name} "
        "--query '[Versions,DeleteMarkers][].[Key,VersionId]' --output text "
        "| while read -r key version; do aws s3api delete-object --region {region} "
        '--bucket {name} --key "$key" --version-id "$version"; done; '
        "aws s3 rb --force s3://{name} --region {region}",
    ),
    OBJECT: Kind(
        lambda account, name: account.client("s3").head_object(**_object(name)),
        lambda account, name: account.client("s3").delete_object(**_object(name)),
        "aws s3 rm s3://{name} --region {region}",
    ),
}


def exists(account: Account, resource: Resource) -> bool:
    """Whether the account has it."""
    try:
        with aws_errors(f"{resource.kind} {resource.name}"):
            KINDS[resource.kind].describe(account, resource.name)
    except AccountError as error:
        # SageMaker says ValidationException of whatever is not there.
        if error.code in _NOT_FOUND or (
            error.code.startswith("Validation") and "could not find" in str(error).lower()
        ):
            return False
        raise
    return True


def by_hand(resources: Sequence[Resource]) -> list[str]:
    """The commands that remove these, in order."""
    return [
        KINDS[each.kind].by_hand.format(name=each.name, region=each.region) for each in resources
    ]


class Removal:
    """Removes what a ledger says may exist, with patience.

    remains = Removal(ledger, print).remove(patience_seconds=600)
    """

    def __init__(
        self,
        ledger: Ledger,
        say: Callable[[str], None],
        *,
        open_account: Callable[[str], Account] = Account,
        late_seconds: float = _LATE_SECONDS,
    ) -> None:
        self._ledger = ledger
        self._say = say
        self._open_account = open_account
        self._late_seconds = late_seconds
        self._said = ""
        self._unwritten: set[tuple[str, str]] = set()
        """Removed, and the ledger could not be written."""
        self.last_error = ""
        """Why the last attempt failed; empty when it did not."""

    def remove(self, patience_seconds: float, only: str | None = None) -> list[Resource]:
        """Try until nothing remains or the patience ends; what remains."""
        backoff = Backoff(0.5, 30.0)
        until = time.monotonic() + patience_seconds
        began = time.time()
        while remaining := self._left(only):
            # Afresh each time: renewed credentials are picked up.
            accounts: dict[str, Account] = {}
            waiting: list[Resource] = []
            self.last_error = ""
            removed = False
            for entry in remaining:
                if _has_to_wait(entry.resource, waiting):
                    waiting.append(entry.resource)
                elif self._is_gone(entry, accounts, began):
                    self._note_deleted(entry.resource)
                    self._say(f"removed {entry.resource.kind} {entry.resource.name}")
                    removed = True
                else:
                    waiting.append(entry.resource)
            if removed:
                backoff.reset()
            elif time.monotonic() > until:
                break
            else:
                time.sleep(backoff.delay())
        return [entry.resource for entry in self._left(only)]

    def _left(self, only: str | None) -> list[Entry]:
        left = [
            entry
            for entry in self._ledger.remaining(only)
            if (entry.resource.kind, entry.resource.name) not in self._unwritten
        ]
        return sorted(left, key=lambda entry: _rank(entry.resource.kind))

    def _note_deleted(self, resource: Resource) -> None:
        try:
            self._ledger.record(resource, State.DELETED)
        except StorageError as error:
            # A full disk must not keep the rest alive.
            self._unwritten.add((resource.kind, resource.name))
            self._complain(str(error))

    def _is_gone(self, entry: Entry, accounts: dict[str, Account], began: float) -> bool:
        """Ask for its end; whether the account has none of its name any more."""
        resource = entry.resource
        try:
            if resource.region not in accounts:
                accounts[resource.region] = self._open_account(resource.region)
            account = accounts[resource.region]
            account.require_number(resource.account, f"{resource.kind} {resource.name}")
            if exists(account, resource):
                with aws_errors(f"{resource.kind} {resource.name}"):
                    KINDS[resource.kind].delete(account, resource.name)
                return not exists(account, resource)
        except Exception as error:  # noqa: BLE001 (the others are removed all the same)
            self._complain(str(error))
            return False
        is_late = time.time() - max(entry.time.timestamp(), began) < self._late_seconds
        return entry.state is not State.INTENDED or not is_late

    def _complain(self, text: str) -> None:
        self.last_error = text
        if text != self._said:
            self._said = text
            self._say(f"cannot remove it yet: {text}")


def _rank(kind: str) -> int:
    return _REMOVED_FIRST.index(kind) if kind in _REMOVED_FIRST else len(_REMOVED_FIRST)


def _has_to_wait(resource: Resource, waiting: Sequence[Resource]) -> bool:
    """Whether something that is still there needs it; what has no group may serve all groups."""
    before = _WAITS_FOR.get(resource.kind, frozenset({ENDPOINT}))
    return any(each.kind in before and resource.group in ("", each.group) for each in waiting)
