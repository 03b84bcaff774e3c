"""Terraform on a copy of a module, and an AWS account that moto's server plays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
INFRASTRUCTURE = ROOT / "infrastructure"
PLUGIN_FOLDER = "TF_PLUGIN_DIR"
"""The variable that names a folder of providers, for machines without Terraform's registry."""
PROVIDER = "registry.terraform.io/hashicorp/aws"
_PLACES = ("opt", "usr/share/terraform", "usr/local/share/terraform")


def plugin_folder() -> str | None:
    """A folder of providers on this machine, as the variable says or as it is usually called."""
    if named := os.environ.get(PLUGIN_FOLDER):
        return named
    found = [path for place in _PLACES for path in Path("/").glob(f"{place}/*/{PROVIDER}")]
    return str(found[0]).removesuffix(f"/{PROVIDER}") if found else None


def provider_mirror(folder: Path) -> Path:
    """A configuration of Terraform that takes providers from that folder, or else its registry."""
    path = folder / "terraform.rc"
    plugins = plugin_folder()
    mirror = f'filesystem_mirror {{ path = "{plugins}" }}' if plugins else "direct {}"
    path.write_text(f"provider_installation {{\n  {mirror}\n}}\n")
    return path


def terraform_program() -> str:
    program = shutil.which("terraform")
    if program is None:
        pytest.skip("terraform is not installed")
    return program


def terraform(
    folder: Path, *words: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Terraform in a folder; its own output is what a failed assertion shows."""
    return subprocess.run(
        [terraform_program(), *words],
        cwd=folder,
        env={
            **os.environ,
            "CHECKPOINT_DISABLE": "1",
            "TF_IN_AUTOMATION": "1",
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def without_lifecycle_rule(folder: Path) -> None:
    """Leave out of a configuration the rule after which the provider waits for most of a minute."""
    module = folder / "modules" / "model_bucket"
    module.mkdir(parents=True, exist_ok=True)
    rule = 'resource "aws_s3_bucket_lifecycle_configuration" "models" {\n  count = 0\n}\n'
    (module / "without_rule_override.tf").write_text(rule)


def initialised_copy(folder: Path) -> Path:
    """The root module with its provider, exactly as locked."""
    copy = folder / "terraform"
    shutil.copytree(
        INFRASTRUCTURE / "terraform",
        copy,
        ignore=shutil.ignore_patterns(".terraform", "*.tfstate*"),
    )
    plugins = plugin_folder()
    from_folder = [f"-plugin-dir={plugins}"] if plugins else []
    done = terraform(copy, "init", "-input=false", "-lockfile=readonly", "-no-color", *from_folder)
    if done.returncode:
        pytest.skip(
            f"Terraform's AWS provider cannot be had; {PLUGIN_FOLDER} can name a folder of "
            f"providers: {done.stderr[-300:]}"
        )
    return copy


@contextmanager
def moto_account() -> Iterator[dict[str, str]]:
    """An empty account; the variables that lead Terraform there."""
    pytest.importorskip("moto", reason="moto is not installed")
    from moto.iam.access_control import PermissionResult  # noqa: PLC0415
    from moto.s3.models import FakeBucket  # noqa: PLC0415
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    with pytest.MonkeyPatch.context() as patch:
        # moto takes a denial with a condition, such as "not over TLS", as one without.
        patch.setattr(FakeBucket, "get_permission", lambda *_: PermissionResult.NEUTRAL)
        _remember_scaling_tags(patch)
        for kind in ("model", "endpoint_config", "endpoint"):
            _remember(patch, kind)
        _update_endpoints(patch)
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        try:
            yield {
                "AWS_ENDPOINT_URL": f"http://{host}:{port}",
                "AWS_ACCESS_KEY_ID": "testing",
                "AWS_SECRET_ACCESS_KEY": "testing",
                "AWS_EC2_METADATA_DISABLED": "true",
                "AWS_CONFIG_FILE": "/nonexistent",
                "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
            }
        finally:
            server.stop()


def _remember_scaling_tags(patch: pytest.MonkeyPatch) -> None:
    """Let moto keep the tags of scalable targets, which it forgets."""
    from moto.applicationautoscaling.responses import (  # noqa: PLC0415
        ApplicationAutoScalingResponse as Scaling,
    )

    tags: dict[str, str] = {}
    register = Scaling.register_scalable_target

    def registered(self: Any) -> str:
        tags.update(self._get_param("Tags") or {})
        return str(register(self))

    def listed(_: Any) -> str:
        return json.dumps({"Tags": tags})

    patch.setattr(Scaling, "register_scalable_target", registered)
    patch.setattr(Scaling, "list_tags_for_resource", listed, raising=False)


def _remember(patch: pytest.MonkeyPatch, kind: str) -> None:
    """Let moto describe what it was given, and nothing empty that it was not given."""
    from moto.core.responses import ActionResult  # noqa: PLC0415
    from moto.sagemaker.responses import SageMakerResponse  # noqa: PLC0415

    name = "".join(word.title() for word in kind.split("_")) + "Name"
    given: dict[str, dict[str, Any]] = {}
    create = getattr(SageMakerResponse, f"create_{kind}")
    describe = getattr(SageMakerResponse, f"describe_{kind}")

    def created(self: Any) -> Any:
        given[self._get_param(name)] = json.loads(self.body)
        return create(self)

    def described(self: Any) -> Any:
        shown = {key: value for key, value in describe(self).result.items() if value}
        asked = given[self._get_param(name)]
        for key, shown_key in (
            ("EnableNetworkIsolation", "EnableNetworkIsolation"),
            ("DeploymentConfig", "LastDeploymentConfig"),
        ):
            if key in asked:
                shown[shown_key] = asked[key]
        return ActionResult(shown)

    patch.setattr(SageMakerResponse, f"create_{kind}", created)
    patch.setattr(SageMakerResponse, f"describe_{kind}", described)


def _update_endpoints(patch: pytest.MonkeyPatch) -> None:
    """Let moto change the configuration of an endpoint, which it cannot."""
    from moto.core.responses import ActionResult  # noqa: PLC0415
    from moto.sagemaker.responses import SageMakerResponse  # noqa: PLC0415

    def updated(self: Any) -> Any:
        endpoint = self.sagemaker_backend.endpoints[self._get_param("EndpointName")]
        endpoint.endpoint_config_name = self._get_param("EndpointConfigName")
        return ActionResult({"EndpointArn": endpoint.arn})

    patch.setattr(SageMakerResponse, "update_endpoint", updated, raising=False)
