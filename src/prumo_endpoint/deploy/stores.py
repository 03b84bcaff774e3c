"""The bucket and the repository, made before Terraform runs: it takes them over by an import.

A model has to be uploaded and an image pushed before Terraform can create an endpoint from them.
Created here, they need no run of Terraform of their own, which would double the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.errors import InputError
from prumo.files import file_sha256
from prumo_endpoint.deploy.leftovers import TAGS
from prumo_endpoint.ledger import Resource
from prumo_endpoint.sagemaker.account import Account, AccountError, aws_errors
from prumo_endpoint.sagemaker.resources import BUCKET, OBJECT, exists

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.progress import Progress

_OLDEST_REGION = "us-east-1"
"""The only one that S3 refuses to be told."""
_ALREADY_OURS = frozenset({"BucketAlreadyOwnedByYou", "RepositoryAlreadyExistsException"})


def create_store(account: Account, resource: Resource, *, is_ours: bool) -> None:
    """Create one of them; Terraform sets everything that can be set later.

    Args:
        account: Where.
        resource: A bucket or a repository.
        is_ours: Whether a run before announced it; its call may arrive at any moment.
    """
    # In its oldest region S3 says yes to the creation of a bucket that the account has already.
    if resource.kind == BUCKET and not is_ours and exists(account, resource):
        raise InputError(f"there is a bucket {resource.name} already; choose another --name")
    try:
        with aws_errors(f"{resource.kind} {resource.name}"):
            if resource.kind == BUCKET:
                _create_bucket(account, resource.name)
            else:
                _create_repository(account, resource.name)
    except AccountError as error:
        if error.code in _ALREADY_OURS and is_ours:
            return
        if error.code in {"BucketAlreadyExists", *_ALREADY_OURS}:
            raise InputError(f"{error}; choose another --name") from error
        raise


def model_key(model: Path) -> str:
    """Of a package in the bucket: the hash of its content."""
    return f"{file_sha256(model)}.tar.gz"


def upload_model(account: Account, model: Path, bucket: str, key: str, progress: Progress) -> None:
    """Upload it, unless the bucket has it already."""
    if exists(account, Resource(OBJECT, f"{bucket}/{key}", account.region)):
        return
    if key != model_key(model):
        raise InputError(f"{model} has changed since the version that is wanted was deployed")
    progress.show(f"uploading {model.name}")
    with aws_errors(f"uploading {model}"):
        account.client("s3").upload_file(str(model), bucket, key)


def _create_bucket(account: Account, name: str) -> None:
    place: dict[str, Any] = {}
    if account.region != _OLDEST_REGION:
        place = {"CreateBucketConfiguration": {"LocationConstraint": account.region}}
    account.client("s3").create_bucket(Bucket=name, **place)


def _create_repository(account: Account, name: str) -> None:
    # The encryption cannot be changed later: a difference would make Terraform replace it.
    account.client("ecr").create_repository(
        repositoryName=name,
        imageTagMutability="IMMUTABLE",
        # Before the first push.
        imageScanningConfiguration={"scanOnPush": True},
        encryptionConfiguration={"encryptionType": "KMS"},
        tags=[{"Key": TAGS[0], "Value": name}],
    )
