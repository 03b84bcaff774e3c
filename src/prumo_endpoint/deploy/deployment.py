"""A deployment: what is wanted, and the folder that remembers it.

FOLDER/NAME has `deployment.json` (what is wanted), `ledger.jsonl` (what was created), `terraform`
(the configuration, which works without Prumo too, and its state) and, at the end, certificates.
"""

from __future__ import annotations

import json
import re
import shutil
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, StorageError, did_you_mean
from prumo.files import locked, write_json
from prumo_endpoint.deploy.terraform import BACKEND_FILE, STATE_FILE
from prumo_endpoint.infrastructure import TERRAFORM
from prumo_endpoint.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FORMAT = 1
DEFAULT_FOLDER = Path("deployments")
VARIABLES_FILE = "terraform.tfvars.json"
IMPORTS_FILE = "imports.tf.json"
_SETTINGS_FILE = "deployment.json"
_HEALTHY_FILE = "healthy.json"
_OLD_STATE_FILE = f"{STATE_FILE}.removed"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NAME_LENGTHS = range(2, 41)
_MEMORY_MB = range(1024, 6145, 1024)
_INSTANCE_TYPE = re.compile(r"ml\.[a-z0-9-]+\.[a-z0-9]+")
_MB_PER_GB = 1024


@dataclass(frozen=True)
class Settings:
    """What is wanted: a model and an image behind an endpoint of one kind."""

    name: str
    region: str
    model: str | None
    """A model or its package on this machine; None where the image contains it."""
    image: str
    """An image on this machine, which is pushed; empty where Prumo has yet to build it."""
    memory_mb: int | None = None
    """Of a serverless endpoint; None for a real-time one."""
    max_concurrency: int = 5
    provisioned_concurrency: int | None = None
    instance_type: str | None = None
    """Of a real-time endpoint; None for a serverless one."""
    instances_max: int = 1
    expires_at: str | None = None
    """When AWS itself deletes the endpoint."""
    model_key: str | None = None
    """Of the model in the bucket: the hash of its content."""
    account: str = ""
    """The number of the account that it is in."""
    state: str | None = None
    """Where Terraform keeps its state; None for the deployment's folder."""
    image_tag: str | None = None
    """Of the image in the repository: the beginning of its digest."""
    base: str | None = None
    """What Prumo builds the image from; None where the user gives an image."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or len(self.name) not in _NAME_LENGTHS:
            raise InputError(
                f"the name '{self.name}' is invalid: use 2 to 40 lowercase letters and digits, "
                "separated by single hyphens"
            )
        if (self.memory_mb is None) == (self.instance_type is None):
            raise InputError("give --memory for serverless or --instance-type for real-time")
        if self.memory_mb is not None and self.memory_mb not in _MEMORY_MB:
            raise InputError(
                f"--memory {self.memory_mb}: SageMaker has 1024 to 6144 MB in steps of 1024"
            )
        if self.instance_type is not None and not _INSTANCE_TYPE.fullmatch(self.instance_type):
            raise InputError(f"'{self.instance_type}' is no instance type such as ml.m5.large")
        if self.provisioned_concurrency is not None and not (
            self.memory_mb and self.provisioned_concurrency <= self.max_concurrency
        ):
            raise InputError(
                "provisioned concurrency is for serverless endpoints, at most their concurrency"
            )

    @property
    def scales(self) -> bool:
        """Whether the number of instances follows the load."""
        return self.instance_type is not None and self.instances_max > 1

    @property
    def price_name(self) -> str:
        """The price of what it runs on, as studies write it."""
        sku = self.instance_type or f"serverless-{(self.memory_mb or 0) // _MB_PER_GB}gb"
        return f"sagemaker/{sku}@{self.region}"

    def variables(self, *, endpoint: bool = True) -> dict[str, Any]:
        """Of Terraform's root module; without an endpoint, only what it is made from."""
        wanted: dict[str, Any] = {
            "name": self.name,
            "region": self.region,
            "force_destroy": True,
            "image": self.image_tag if endpoint else None,
            "model_key": self.model_key if endpoint else None,
            "expires_at": self.expires_at,
        }
        if self.instance_type is not None:
            wanted["realtime"] = {
                "instance_type": self.instance_type,
                "instances_max": self.instances_max,
            }
        else:
            wanted["serverless"] = {
                "memory_mb": self.memory_mb,
                "max_concurrency": self.max_concurrency,
                "provisioned_concurrency": self.provisioned_concurrency,
            }
        return wanted


class Deployment:
    """The folder of one deployment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.terraform_path = path / "terraform"
        self.ledger = Ledger(path / "ledger.jsonl")

    @property
    def name(self) -> str:
        """Of the endpoint, too."""
        return self.path.name

    def settings(self) -> Settings | None:
        """What was last wanted; None before the first time."""
        return self._read(self.path / _SETTINGS_FILE)

    def healthy_settings(self) -> Settings | None:
        """Those of the last version that answered; None before the first time."""
        return self._read(self.path / _HEALTHY_FILE)

    @staticmethod
    def _read(path: Path) -> Settings | None:
        try:
            content = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read {path}: {error}") from error
        known = {field.name for field in fields(Settings)}
        try:
            return Settings(**{key: content[key] for key in content if key in known})
        except TypeError as error:
            raise InputError(f"{path} is not complete: {error}") from error

    def write_settings(self, settings: Settings, *, healthy: bool = False) -> None:
        """Remember what is wanted, or that it answered."""
        with StorageError.writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            name = _HEALTHY_FILE if healthy else _SETTINGS_FILE
            write_json(self.path / name, {"format": FORMAT, **asdict(settings)})

    def forget_version(self) -> None:
        """After everything was removed there is no version to go back to."""
        with StorageError.writing(self.path):
            (self.path / _HEALTHY_FILE).unlink(missing_ok=True)

    def put_state_away(self) -> None:
        """After a removal without Terraform, whose state still lists what is gone."""
        with StorageError.writing(self.terraform_path), suppress(FileNotFoundError):
            (self.terraform_path / STATE_FILE).replace(self.terraform_path / _OLD_STATE_FILE)

    def write_configuration(self, variables: Mapping[str, Any], backend: Backend) -> None:
        """The modules and their variables; the state that may lie beside them stays."""
        with StorageError.writing(self.terraform_path):
            shutil.copytree(
                TERRAFORM,
                self.terraform_path,
                ignore=shutil.ignore_patterns(".terraform", "*.tfstate*", "tests", "*.tftest.hcl"),
                dirs_exist_ok=True,
            )
            write_json(self.terraform_path / VARIABLES_FILE, variables)
            write_json(self.terraform_path / BACKEND_FILE, backend.configuration(self.name))

    def write_certificate(self, content: Mapping[str, object]) -> Path:
        """What was created and is gone."""
        time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        path = self.path / f"certificate-{time}.json"
        with StorageError.writing(path):
            write_json(path, {"format": FORMAT, **content})
        return path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other Prumo processes out; the lock ends with the process."""
        with StorageError.writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        with locked(self.path / ".lock", "Wait for it to end, then try again."):
            yield


@dataclass(frozen=True)
class Backend:
    """Where Terraform keeps its state: beside its configuration, or in S3 with a lock."""

    bucket: str = ""
    prefix: str = ""
    region: str = ""

    @property
    def is_remote(self) -> bool:
        """Whether Terraform has to be asked for the state."""
        return bool(self.bucket)

    @classmethod
    def from_text(cls, text: str | None, region: str) -> Backend:
        """Of `s3://BUCKET/PREFIX`; None is the local folder."""
        if text is None:
            return cls()
        bucket, _, prefix = text.removeprefix("s3://").partition("/")
        if not text.startswith("s3://") or not bucket:
            raise InputError(f"--state {text}: right is s3://BUCKET/PREFIX")
        return cls(bucket, prefix.strip("/"), region)

    def configuration(self, name: str) -> dict[str, Any]:
        """As Terraform reads it."""
        if not self.bucket:
            return {"terraform": {"backend": {"local": {}}}}
        key = "/".join(filter(None, [self.prefix, name, "terraform.tfstate"]))
        s3 = {"bucket": self.bucket, "key": key, "region": self.region, "use_lockfile": True}
        # The lock as a file beside the state is newer than what the modules need.
        return {"terraform": {"backend": {"s3": s3}, "required_version": ">= 1.10"}}


def deployments(folder: Path) -> list[Deployment]:
    """All deployments of a folder, by name."""
    found = sorted(folder.glob(f"*/{_SETTINGS_FILE}"))
    return [Deployment(path.parent) for path in found]


def open_deployment(folder: Path, name: str) -> Deployment:
    """A deployment that exists.

    Raises:
        InputError: There is none of this name in the folder.
    """
    known = {deployment.name: deployment for deployment in deployments(folder)}
    if name not in known:
        hint = did_you_mean(name, known) if known else "there are none yet"
        raise InputError(f"no deployment '{name}' in {folder}; {hint}")
    return known[name]
