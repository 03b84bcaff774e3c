"""Endpoints come, change and go: real Terraform against moto's server, with kills in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import psutil
import pytest

from prumo.errors import InputError
from prumo_endpoint.deploy.bill import bill_of
from prumo_endpoint.deploy.deployment import Backend, Deployment, Settings
from prumo_endpoint.ledger import Ledger, Resource, State
from prumo_endpoint.sagemaker.resources import Removal
from support import fake_docker
from support.fake_sagemaker import FakeAws, fake_aws
from support.killing_proxy import killing_proxy
from support.terraform import provider_mirror, terraform_program

NAME = "mobilenet"
SERVERLESS = ("--memory", "2048", "--yes")
MOST_KILLS = 80


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    terraform_program()
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(provider_mirror(tmp_path)))
    with fake_aws() as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv(
            "PATH", f"{fake_docker.put_on_path(tmp_path / 'bin')}:{os.environ['PATH']}"
        )
        yield fake


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return package(tmp_path / f"{NAME}.tar.gz", b"weights")


def package(path: Path, weights: bytes) -> Path:
    """As much of a packaged model as a deployment looks at."""
    folder = path.with_suffix("")
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({"network": {"runtime": "onnxruntime"}}))
    (folder / "network.onnx").write_bytes(weights)
    with tarfile.open(path, "w:gz") as archive:
        for file in sorted(folder.iterdir()):
            archive.add(file, file.name)
    return path


def prumo(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "prumo", "endpoint", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def deployed(folder: Path, model: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return prumo(folder, "deploy", model.name, "--image", "lean:1", *SERVERLESS, *words)


def everything(aws: FakeAws) -> dict[str, list[str]]:
    """All that exists in the account, by kind."""
    sagemaker, client = aws.client("sagemaker"), aws.client
    logs, alarms = client("logs"), client("cloudwatch")
    return {
        "endpoints": [each["EndpointName"] for each in sagemaker.list_endpoints()["Endpoints"]],
        "configurations": [
            each["EndpointConfigName"]
            for each in sagemaker.list_endpoint_configs()["EndpointConfigs"]
        ],
        "models": [each["ModelName"] for each in sagemaker.list_models()["Models"]],
        "buckets": [each["Name"] for each in client("s3").list_buckets()["Buckets"]],
        "repositories": [
            each["repositoryName"] for each in client("ecr").describe_repositories()["repositories"]
        ],
        "roles": [each["RoleName"] for each in client("iam").list_roles()["Roles"]],
        "schedules": [each["Name"] for each in client("scheduler").list_schedules()["Schedules"]],
        "logs": [each["logGroupName"] for each in logs.describe_log_groups()["logGroups"]],
        "alarms": [each["AlarmName"] for each in alarms.describe_alarms()["MetricAlarms"]],
    }


def nothing() -> dict[str, list[str]]:
    kinds = "endpoints configurations models buckets repositories roles schedules logs alarms"
    return {kind: [] for kind in kinds.split()}


@pytest.mark.slow
def test_an_endpoint_comes_changes_and_goes(aws: FakeAws, tmp_path: Path, model: Path) -> None:
    done = deployed(tmp_path, model, "--expires", "4h")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{NAME} answers: https://runtime.sagemaker.us-east-1.")
    assert "$0.04 per 1,000 answers" in done.stdout
    assert "prumo endpoint destroy mobilenet" in done.stdout
    found = everything(aws)
    assert found["endpoints"] == [NAME]
    assert found["schedules"] == [f"{NAME}-expiry"]
    assert len(found["models"]) == len(found["configurations"]) == 1

    shown = prumo(tmp_path, "list")
    assert "InService" in shown.stdout
    photograph = tmp_path / "photograph.jpg"
    photograph.write_bytes(b"jpeg")
    assert json.loads(prumo(tmp_path, "invoke", NAME, photograph).stdout)["label"] == "x"

    package(model, b"other weights")
    changed = prumo(tmp_path, "update", NAME, "--model", model.name, "--yes", "--json")
    assert changed.returncode == 0, changed.stderr
    assert json.loads(changed.stdout)["is_changed"]
    after = everything(aws)
    assert after["models"] != found["models"]
    assert len(after["models"]) == len(after["configurations"]) == 1

    left = prumo(tmp_path, "leftovers")
    assert left.returncode == 1
    assert "sagemaker-endpoint mobilenet" in left.stdout

    gone = prumo(tmp_path, "destroy", NAME, "--yes")
    assert gone.returncode == 0, gone.stderr
    assert everything(aws) == nothing()
    (certificate,) = (tmp_path / "deployments" / NAME).glob("certificate-*.json")
    looked_for = json.loads(certificate.read_text())["looked_for"]
    assert {"s3-bucket", "iam-role", "sagemaker-endpoint"} <= {each["kind"] for each in looked_for}
    assert all(each["deleted"] and not each["found"] for each in looked_for)
    assert prumo(tmp_path, "leftovers").stdout == "Nothing is left in us-east-1.\n"


@pytest.mark.slow
def test_a_version_that_is_not_healthy_gives_way_to_the_former(
    aws: FakeAws, tmp_path: Path, model: Path
) -> None:
    assert deployed(tmp_path, model).returncode == 0
    before = everything(aws)
    package(model, b"worse weights")
    aws.faults = ["model error"]
    done = deployed(tmp_path, model)
    assert done.returncode == 2
    assert "the former one answers again" in done.stderr
    assert everything(aws) == before
    deployment = Deployment(tmp_path / "deployments" / NAME)
    assert deployment.settings() == deployment.healthy_settings()


@pytest.mark.slow
def test_what_belongs_to_somebody_else_is_not_touched(
    aws: FakeAws, tmp_path: Path, model: Path
) -> None:
    aws.client("ecr").create_repository(repositoryName=NAME)
    done = deployed(tmp_path, model)
    assert done.returncode == 2
    assert "ecr-repository 'mobilenet' already, and it is not of this deployment" in done.stderr
    assert everything(aws) == {**nothing(), "repositories": [NAME]}


def killed_after_every_change(
    aws: FakeAws, folder: Path, *words: object, terraform_dies: bool = True, kills: int = MOST_KILLS
) -> list[str]:
    """Run a command again and again, killed after a change each time, until there is none left.

    Terraform dies with it, or is interrupted and ends by itself. The calls before each death.
    """
    with killing_proxy(aws.moto_url, with_children=terraform_dies) as proxy:
        # One call at a time, or some would be made between a kill and the next.
        serial = {"TF_CLI_ARGS_apply": "-parallelism=1", "TF_CLI_ARGS_destroy": "-parallelism=1"}
        environment = os.environ | serial | {"AWS_ENDPOINT_URL": proxy.url}
        command = [sys.executable, "-m", "prumo", "endpoint", *map(str, words)]
        while True:
            with subprocess.Popen(
                command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=PIPE
            ) as process:
                if len(proxy.killed_after) < kills:
                    proxy.victim = process.pid
                _, complaint = process.communicate()
            psutil.wait_procs(proxy.orphans)
            if process.returncode != -signal.SIGKILL:
                assert process.returncode == 0, complaint.decode()
                return proxy.killed_after


@pytest.mark.slow
@pytest.mark.parametrize(
    ("terraform_dies", "kills"), [(True, MOST_KILLS), (False, 3)], ids=["all", "prumo-alone"]
)
def test_killed_after_changes_of_the_account_it_creates_and_leaves_nothing_twice(
    aws: FakeAws, tmp_path: Path, model: Path, terraform_dies: bool, kills: int
) -> None:
    def swept(*words: object) -> set[str]:
        calls = killed_after_every_change(
            aws, tmp_path, *words, terraform_dies=terraform_dies, kills=kills
        )
        assert len(calls) == kills if kills < MOST_KILLS else len(calls) < kills
        return {call.split()[0] for call in calls}

    kinds = swept("deploy", model.name, "--image", "lean:1", *SERVERLESS, "--expires", "4h")
    if terraform_dies:
        assert {"CreateRole", "CreateModel", "CreateEndpointConfig", "CreateEndpoint"} <= kinds
    assert {kind: len(names) for kind, names in everything(aws).items()} == {
        **dict.fromkeys(nothing(), 1),
        "roles": 2,
    }
    kinds = swept("destroy", NAME, "--yes")
    if terraform_dies:
        assert {"DeleteEndpoint", "DeleteModel", "DeleteRole"} <= kinds
    assert everything(aws) == nothing()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "No_Name"}, "2 to 40 small letters"),
        ({"memory_mb": 1500}, "1024 to 6144 MB in steps of 1024"),
        ({"memory_mb": None}, "--memory for serverless or --instance-type"),
        ({"instance_type": "ml.m5.large"}, "--memory for serverless or --instance-type"),
        ({"memory_mb": None, "instance_type": "m5"}, "no instance type such as ml.m5.large"),
        ({"provisioned_concurrency": 9}, "at most their concurrency"),
    ],
)
def test_what_sagemaker_does_not_have_is_refused(change: dict[str, Any], message: str) -> None:
    wanted = {"name": NAME, "region": "us-east-1", "model": None, "image": "x", "memory_mb": 1024}
    with pytest.raises(InputError, match=message):
        Settings(**{**wanted, **change})


def test_the_worst_bill_ends_at_the_deadline() -> None:
    settings = Settings(NAME, "us-east-1", None, "x", memory_mb=1024, max_concurrency=2)
    assert bill_of(settings).worst == pytest.approx(2 * 0.00002 * 3600 * 730)
    instance = Settings(NAME, "us-east-1", None, "x", instance_type="ml.m5.large")
    assert bill_of(instance).idle_per_hour == pytest.approx(0.115)
    unknown = Settings(NAME, "us-east-1", None, "x", instance_type="ml.z9.large")
    assert "no price" in bill_of(unknown).sentences(unknown)[0]


def test_a_state_in_s3_has_a_lock() -> None:
    backend = Backend.from_text("s3://bucket/some/place", "us-east-1").configuration(NAME)
    (s3,) = backend["terraform"]["backend"].values()
    assert s3["key"] == "some/place/mobilenet/terraform.tfstate"
    assert s3["use_lockfile"]
    with pytest.raises(InputError, match="s3://BUCKET/PREFIX"):
        Backend.from_text("bucket", "us-east-1")


def test_bad_input_is_told_before_anything_begins(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(fake_docker.put_on_path(tmp_path / "bin")))
    arm = prumo(tmp_path, "deploy", model.name, "--image", "arm:1", *SERVERLESS)
    assert arm.returncode == 2
    assert "is for arm64, and a serverless endpoint needs amd64" in arm.stderr
    without = deployed(tmp_path, model)
    assert without.returncode == 2
    assert "Terraform is not installed, nor OpenTofu" in without.stderr
    bare = tmp_path / "bare.tar.gz"
    with tarfile.open(bare, "w:gz") as archive:
        archive.add(model, "weights")
    assert "has no manifest.json" in deployed(tmp_path, bare).stderr
    assert "no deployment 'other'" in prumo(tmp_path, "destroy", "other").stderr
    assert not (tmp_path / "deployments").exists()


def test_two_at_once_do_not_mix(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terraform_program()
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    path = f"{fake_docker.put_on_path(tmp_path / 'bin')}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    with Deployment(tmp_path / "deployments" / NAME).locked():
        second = deployed(tmp_path, model)
    assert second.returncode != 0
    assert f"deployments/{NAME} is in use by another prumo" in second.stderr


@pytest.mark.slow
def test_what_is_in_another_account_is_neither_forgotten_nor_removed(
    aws: FakeAws, tmp_path: Path
) -> None:
    aws.client("ecr").create_repository(repositoryName=NAME)
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.record(Resource("ecr-repository", NAME, "us-east-1", "999999999999"), State.CREATED)
    said: list[str] = []
    (remains,) = Removal(ledger, said.append).remove(0)
    assert remains.name == NAME
    assert "is in account 999999999999, and these credentials are of 123456789012" in said[0]
    assert everything(aws)["repositories"] == [NAME]


@pytest.mark.slow
def test_without_terraform_the_ledger_is_enough_to_remove_everything(
    aws: FakeAws, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert deployed(tmp_path, model).returncode == 0
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    gone = prumo(tmp_path, "destroy", NAME, "--yes")
    assert gone.returncode == 0, gone.stderr
    assert "Terraform failed, removing by the ledger" in gone.stderr
    assert everything(aws) == nothing()
