"""The Terraform modules: written as Terraform wants, safe, and applied to an account for real."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from support.terraform import INFRASTRUCTURE, ROOT, initialised_copy, moto_account, terraform

if TYPE_CHECKING:
    from conftest import Prumo

MODULES = sorted({path.parent for path in INFRASTRUCTURE.rglob("*.tf")})
REALTIME = 'realtime={instance_type="ml.m5.xlarge",instances_max=3}'
SERVERLESS = "serverless={memory_mb=2048}"
GIVEN = {
    "TF_VAR_name": "retina",
    "TF_VAR_image": "v1",
    "TF_VAR_model_key": "model.tar.gz",
    "TF_VAR_force_destroy": "true",
    "TF_VAR_expires_at": "2030-12-01T18:00:00Z",
    "TF_VAR_tags": '{course="study 3"}',
}
LISTED = {
    "list_endpoints": ("sagemaker", "Endpoints"),
    "list_endpoint_configs": ("sagemaker", "EndpointConfigs"),
    "list_models": ("sagemaker", "Models"),
    "list_buckets": ("s3", "Buckets"),
    "describe_repositories": ("ecr", "repositories"),
    "list_roles": ("iam", "Roles"),
    "list_schedules": ("scheduler", "Schedules"),
    "describe_log_groups": ("logs", "logGroups"),
    "describe_alarms": ("cloudwatch", "MetricAlarms"),
    "describe_scalable_targets": ("application-autoscaling", "ScalableTargets"),
    "describe_scaling_policies": ("application-autoscaling", "ScalingPolicies"),
}
"""What lists the resources of a kind → its service, and where its answer has them."""
SCANNED = {"terraform", "kubernetes", "dockerfile"}
ACCEPTED = {
    "CKV_DOCKER_7": "the base is a parameter, and its default has a version",
    "CKV_K8S_11": "a limit of processor time would slow down answers while processors are idle",
    "CKV_K8S_14": "the kustomization sets the tag",
    "CKV_K8S_21": "`kubectl --namespace` names the namespace",
    "CKV_K8S_43": "`kustomize edit set image` takes a digest too",
}
"""Checks of checkov that are left out, and why."""
UNTAGGED = {"aws_scheduler_schedule", "aws_iam_role_policy", "aws_appautoscaling_policy"}


def test_everything_is_formatted() -> None:
    checked = terraform(INFRASTRUCTURE, "fmt", "-check", "-recursive", "-diff")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_variables_are_typed_and_described_and_outputs_described(module: Path) -> None:
    text = "".join(path.read_text() for path in sorted(module.glob("*.tf")))
    blocks = re.findall(r'^(variable|output) "(\w+)" {\n(.*?)^}', text, re.DOTALL | re.MULTILINE)
    assert blocks
    for kind, name, body in blocks:
        assert "description = " in re.sub(" +", " ", body), name
        assert kind == "output" or re.search(r"^  type +=", body, re.MULTILINE), name


def test_the_provider_is_pinned_for_every_platform() -> None:
    lock = (INFRASTRUCTURE / "terraform/.terraform.lock.hcl").read_text()
    assert 'version     = "5.100.0"' in lock
    assert lock.count('"zh:') == 15


@pytest.mark.slow
def test_the_modules_are_valid_and_pass_their_own_tests(tmp_path: Path) -> None:
    folder = initialised_copy(tmp_path)
    validated = terraform(folder, "validate", "-no-color")
    assert validated.returncode == 0, validated.stderr
    tested = terraform(folder, "test", "-no-color")
    assert tested.returncode == 0, tested.stdout
    assert "14 passed, 0 failed" in tested.stdout


@pytest.mark.slow
def test_a_security_scan_finds_nothing() -> None:
    own = ROOT / ".venv/checkov/bin/checkov"
    checkov = str(own) if own.exists() else shutil.which("checkov")
    if checkov is None:
        pytest.skip("checkov is not installed; `make .venv/checkov` does it")
    words = ["--directory", str(INFRASTRUCTURE), "--framework", *SCANNED, "--output", "json"]
    scanned = subprocess.run(
        [checkov, *words, "--skip-check", ",".join(ACCEPTED)],
        env={**os.environ, "LOG_LEVEL": "CRITICAL"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    reports = json.loads(scanned.stdout)
    assert {report["check_type"] for report in reports} == SCANNED
    for report in reports:
        failed = [
            (check["check_id"], check["check_name"], check["resource"])
            for check in report["results"]["failed_checks"]
        ]
        assert failed == []
        assert report["summary"]["parsing_errors"] == 0
        assert report["summary"]["passed"] > 0
        for check in report["results"]["skipped_checks"]:
            assert len(check["check_result"]["suppress_comment"]) > 20, check["check_id"]


@pytest.mark.slow
def test_an_endpoint_is_applied_changes_its_kind_and_is_destroyed(
    tmp_path: Path, prumo: Prumo
) -> None:
    folder = initialised_copy(tmp_path)
    with moto_account() as account:
        environment = {**GIVEN, **account}

        def run(*words: str) -> str:
            done = terraform(folder, *words, environment=environment)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr
            return done.stdout

        run("plan", "-no-color", "-var", REALTIME, "-out=first.plan")
        priced = prumo("price", "plan", folder / "first.plan")
        assert priced.stdout.startswith("$0.23 an hour, $167.90 a month as long as it exists\n")

        run("apply", "-no-color", "-input=false", "first.plan")
        run("plan", "-no-color", "-detailed-exitcode", "-var", REALTIME)
        assert _untagged(_state(run("show", "-json"))) == UNTAGGED

        run("plan", "-no-color", "-var", SERVERLESS, "-out=second.plan")
        (folder / "second.json").write_text(run("show", "-json", "second.plan"))
        changed = json.loads(prumo("price", "plan", folder / "second.json", "--json").stdout)
        (item,) = changed["items"]
        assert item["change"] == "changed"
        assert item["what"] == "1 x ml.m5.xlarge, at most 3 → serverless, 2 GB"
        assert changed["before"]["usd_per_hour"] == pytest.approx(0.23)
        assert changed["after"]["usd_per_hour"] == 0

        run("apply", "-no-color", "-input=false", "second.plan")
        assert _variant(account)["ServerlessConfig"]["MemorySizeInMB"] == 2048
        assert "describe_scalable_targets" not in _existing(account)
        run("apply", "-no-color", "-auto-approve", "-var", REALTIME)
        assert _variant(account)["InstanceType"] == "ml.m5.xlarge"

        assert _existing(account) == dict.fromkeys(LISTED, 1) | {"list_roles": 2}
        run("destroy", "-no-color", "-auto-approve", "-var", REALTIME)
        assert _existing(account) == {}


def _client(account: dict[str, str], service: str) -> Any:
    return boto3.client(
        service,
        region_name="us-east-1",
        endpoint_url=account["AWS_ENDPOINT_URL"],
        aws_access_key_id=account["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=account["AWS_SECRET_ACCESS_KEY"],
    )


def _variant(account: dict[str, str]) -> dict[str, Any]:
    """What the endpoint runs on."""
    sagemaker = _client(account, "sagemaker")
    name = sagemaker.describe_endpoint(EndpointName="retina")["EndpointConfigName"]
    found = sagemaker.describe_endpoint_config(EndpointConfigName=name)
    variant: dict[str, Any] = found["ProductionVariants"][0]
    return variant


def _existing(account: dict[str, str]) -> dict[str, int]:
    """How many there are in the account, of the kinds of which there are any."""
    counts = {}
    for operation, (service, key) in LISTED.items():
        scaling = {"ServiceNamespace": "sagemaker"} if "scal" in service else {}
        counts[operation] = len(getattr(_client(account, service), operation)(**scaling)[key])
    return {operation: count for operation, count in counts.items() if count}


def _state(text: str) -> list[dict[str, Any]]:
    root = json.loads(text)["values"]["root_module"]
    modules = [root, *root["child_modules"]]
    return [each for module in modules for each in module.get("resources", ())]


def _untagged(resources: list[dict[str, Any]]) -> set[str]:
    """Kinds of resources that lack tags; those that cannot have any have no field for them."""
    return {
        each["type"]
        for each in resources
        if each["mode"] == "managed" and not each["type"].startswith("aws_s3_bucket_")
        if (each["values"].get("tags_all") or {}).get("course") != "study 3"
    } - {"aws_ecr_lifecycle_policy"}
