"""An endpoint as a study asks for it, and its creation: each part is in the ledger first."""

from __future__ import annotations

import re
import secrets
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, UnavailableError
from prumo_endpoint.ledger import USD_PER_HOUR, Ledger, Resource, State
from prumo_endpoint.sagemaker.account import Account, aws_errors
from prumo_endpoint.sagemaker.resources import (
    BUCKET,
    ENDPOINT,
    ENDPOINT_CONFIG,
    LOG_GROUP,
    MODEL,
    OBJECT,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.progress import Progress

VARIANT = "all"
MAX_CONCURRENCY = 5
ARM = "arm64"
X86 = "amd64"
_MB_PER_GB = 1024
_READY_SECONDS = 2700.0
_POLL_SECONDS = 5.0
_IN_SERVICE = "InService"
_STARTING = frozenset({"Creating", "Updating", "SystemUpdating"})
_TAG = "prumo"


@dataclass(frozen=True)
class Deployment:
    """A model, an image and what it runs on: serverless by its memory, else an instance."""

    region: str
    image: str
    """In ECR; without a registry, in that of the account."""
    role: str
    """An ARN, or a name in the account."""
    model: str
    """A folder or archive on this machine."""
    memory_mb: int | None
    instance_type: str | None
    max_concurrency: int = MAX_CONCURRENCY
    bucket: str | None = None
    """Where the model is uploaded to; a bucket is created and removed when absent."""

    @property
    def is_serverless(self) -> bool:
        """Whether it is paid for by use."""
        return self.instance_type is None

    @property
    def price_name(self) -> str:
        """The price of what it runs on, as studies write it."""
        sku = self.instance_type or f"serverless-{(self.memory_mb or 0) // _MB_PER_GB}gb"
        return f"sagemaker/{sku}@{self.region}"

    def variant(self, model_name: str) -> dict[str, Any]:
        """As CreateEndpointConfig takes it."""
        variant: dict[str, Any] = {"VariantName": VARIANT, "ModelName": model_name}
        if self.instance_type is not None:
            return variant | {"InstanceType": self.instance_type, "InitialInstanceCount": 1}
        serverless = {"MemorySizeInMB": self.memory_mb, "MaxConcurrency": self.max_concurrency}
        return variant | {"ServerlessConfig": serverless}


def deployment_of(parameters: Mapping[str, Any], region: str) -> Deployment:
    """The endpoint that a run's parameters ask for.

    Raises:
        InputError: They do not say enough, or memory that SageMaker does not have.
    """
    instance_type, memory_mb = parameters.get("instance_type"), parameters.get("memory_mb")
    for name in ("model", "image", "execution_role"):
        if parameters.get(name) is None:
            raise InputError(f"a SageMaker endpoint that is created needs `{name}`, or `address`")
    if (instance_type is None) == (memory_mb is None):
        raise InputError(
            "a SageMaker endpoint has an `instance_type` (real-time) or `memory_mb` (serverless), "
            "one of the two; the price of its `machine` can imply it"
        )
    if memory_mb is not None and (memory_mb % _MB_PER_GB or not 1 <= memory_mb // _MB_PER_GB <= 6):  # noqa: PLR2004 (SageMaker's)
        raise InputError(f"memory_mb {memory_mb}: SageMaker has 1024 to 6144, in steps of 1024")
    texts = {name: str(value) for name, value in parameters.items()}
    texts["architecture"] = architecture_of(instance_type)
    try:
        image = str(parameters["image"]).format_map(texts)
    except KeyError as error:
        raise InputError(f"image: '{{{error.args[0]}}}' has no value in this study") from error
    return Deployment(
        region=region,
        image=image,
        role=parameters["execution_role"],
        model=parameters["model"],
        memory_mb=memory_mb,
        instance_type=instance_type,
        max_concurrency=parameters.get("max_concurrency") or MAX_CONCURRENCY,
        bucket=parameters.get("bucket"),
    )


def architecture_of(instance_type: str | None) -> str:
    """What an image must be built for: Graviton families have a `g` after their generation."""
    return ARM if re.match(r"ml\.[a-z]+\d+g", instance_type or "") else X86


class Creator:
    """Creates endpoints in one session of a study; names are unlike those of any other session."""

    def __init__(self, ledger: Ledger, progress: Progress, study: str) -> None:
        self._ledger = ledger
        self._progress = progress
        self._study = study
        plain = "".join(letter if letter.isalnum() else "-" for letter in study.lower())
        self._prefix = f"prumo-{plain[:24].strip('-')}-{secrets.token_hex(4)}"
        self._count = 0
        self._buckets: dict[str, str] = {}
        self._uploaded: dict[tuple[str, str, str], str] = {}

    def create(self, deployment: Deployment, account: Account, usd_per_hour: float | None) -> str:
        """The name of a new endpoint that is in service.

        Raises:
            UnavailableError: The account refuses, or the endpoint does not come into service.
        """
        self._count += 1
        name = f"{self._prefix}-{self._count}"
        self._progress.show(f"uploading the model of {name}")
        url = self._upload(deployment, account)
        client, tags = account.sagemaker, [{"Key": _TAG, "Value": self._study[:256]}]
        container = {"Image": account.image(deployment.image), "ModelDataUrl": url}
        role = account.role(deployment.role)
        resource = Resource(MODEL, name, account.region, account.number, name, {_TAG: self._study})
        self._made(
            resource,
            lambda: client.create_model(
                ModelName=name, PrimaryContainer=container, ExecutionRoleArn=role, Tags=tags
            ),
        )
        variants = [deployment.variant(name)]
        self._made(
            replace(resource, kind=ENDPOINT_CONFIG),
            lambda: client.create_endpoint_config(
                EndpointConfigName=name, ProductionVariants=variants, Tags=tags
            ),
        )
        # SageMaker makes it with the first line of the container, and keeps it for ever.
        log_group = replace(resource, kind=LOG_GROUP, name=f"/aws/sagemaker/Endpoints/{name}")
        self._ledger.record(log_group, State.INTENDED)
        price = {USD_PER_HOUR: repr(usd_per_hour)} if usd_per_hour is not None else {}
        self._made(
            replace(resource, kind=ENDPOINT, tags={**resource.tags, **price}),
            lambda: client.create_endpoint(EndpointName=name, EndpointConfigName=name, Tags=tags),
        )
        self._await(name, account)
        return name

    def _made(self, resource: Resource, create: Callable[[], object]) -> None:
        self._ledger.record(resource, State.INTENDED)
        with aws_errors(f"cannot create {resource.kind} {resource.name}"):
            create()
        self._ledger.record(resource, State.CREATED)

    def _upload(self, deployment: Deployment, account: Account) -> str:
        bucket = deployment.bucket or self._bucket(account)
        uploaded = (account.region, bucket, deployment.model)
        if uploaded not in self._uploaded:
            key = f"{self._prefix}/{len(self._uploaded) + 1}/model.tar.gz"
            tags = {_TAG: self._study}
            resource = Resource(
                OBJECT, f"{bucket}/{key}", account.region, account.number, tags=tags
            )
            s3 = account.client("s3")
            with tempfile.TemporaryDirectory(prefix="prumo-sagemaker-") as folder:
                archive = archive_of(Path(deployment.model), Path(folder))
                self._made(resource, lambda: s3.upload_file(str(archive), bucket, key))
            self._uploaded[uploaded] = f"s3://{bucket}/{key}"
        return self._uploaded[uploaded]

    def _bucket(self, account: Account) -> str:
        if account.region not in self._buckets:
            name = f"{self._prefix}-{account.region}"[:63]
            place = {"LocationConstraint": account.region}
            options = {} if account.region == "us-east-1" else {"CreateBucketConfiguration": place}
            s3 = account.client("s3")
            self._made(
                Resource(BUCKET, name, account.region, account.number, tags={_TAG: self._study}),
                lambda: s3.create_bucket(Bucket=name, **options),
            )
            tags = {"TagSet": [{"Key": _TAG, "Value": self._study[:256]}]}
            with aws_errors(f"bucket {name}"):
                s3.put_bucket_tagging(Bucket=name, Tagging=tags)
            self._buckets[account.region] = name
        return self._buckets[account.region]

    def _await(self, name: str, account: Account) -> None:
        began = time.monotonic()
        while True:
            with aws_errors(f"endpoint {name}"):
                said = account.sagemaker.describe_endpoint(EndpointName=name)
            status, seconds = said["EndpointStatus"], time.monotonic() - began
            if status == _IN_SERVICE:
                return
            if status not in _STARTING or seconds > _READY_SECONDS:
                reason = said.get("FailureReason", f"no success after {seconds / 60:.0f} minutes")
                raise UnavailableError(f"endpoint {name} is {status}: {reason}")
            self._progress.show(f"creating endpoint {name}", f"{seconds / 60:.0f} min")
            time.sleep(_POLL_SECONDS)


def archive_of(model: Path, folder: Path) -> Path:
    """A model.tar.gz: the model itself, or a folder's files packed without links."""
    if model.is_file():
        return model
    archive = folder / "model.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1, dereference=True) as tar:
        for path in sorted(model.iterdir()):
            tar.add(path, path.name)
    return archive
