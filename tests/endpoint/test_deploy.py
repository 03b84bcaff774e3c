"""Endpoints come, change and go: real Terraform against moto's server, with kills in between."""

from __future__ import annotations

import json
import os
import re
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

from prumo.errors import InputError, PrumoError
from prumo.progress import SILENT
from prumo_endpoint.deploy.bill import bill_of
from prumo_endpoint.deploy.certificate import certificate
from prumo_endpoint.deploy.deployment import Backend, Deployment, Settings
from prumo_endpoint.deploy.stores import create_store, model_key, upload_model
from prumo_endpoint.deploy.terraform import Terraform, TerraformError
from prumo_endpoint.ledger import Ledger, Resource, State
from prumo_endpoint.sagemaker.account import Account
from prumo_endpoint.sagemaker.resources import Removal
from support import fake_docker
from support.aws_faults import Answer, Call, answer_calls, expired, refused
from support.fake_sagemaker import FakeAws, fake_aws
from support.killing_proxy import KillingProxy, killing_proxy
from support.terraform import provider_mirror, terraform_program, without_lifecycle_rule

NAME = "mobilenet"
SERVERLESS = ("--memory", "2048", "--yes")
REAL_TIME = ("--instance-type", "ml.m5.large", "--instances-max", "2", "--yes")
# And what the fake itself writes when it is asked.
READING = re.compile("Describe|List|Get|BatchGet|BatchCheck|GET|HEAD|PutMetricData")
MOST_KILLS = 80


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    terraform_program()
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(provider_mirror(tmp_path)))
    without_lifecycle_rule(tmp_path / "deployments" / NAME / "terraform")
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
    logs, alarms, scaling = client("logs"), client("cloudwatch"), client("application-autoscaling")
    targets = scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"]
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
        "targets": [each["ResourceId"] for each in targets],
    }


def nothing() -> dict[str, list[str]]:
    kinds = (
        "endpoints configurations models buckets repositories roles schedules logs alarms targets"
    )
    return {kind: [] for kind in kinds.split()}


def heard_calls(patch: pytest.MonkeyPatch, faults: dict[str, Answer] | None = None) -> list[str]:
    """The calls that change the account, from now on; those with a fault are refused once."""
    heard: list[str] = []
    left = dict(faults or {})

    def answer(call: Call) -> Answer | None:
        if not READING.match(call.name):
            heard.append(call.name)
        return left.pop(call.name, None)

    answer_calls(patch, answer)
    return heard


@pytest.mark.slow
def test_an_endpoint_comes_changes_and_goes(
    aws: FakeAws, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = heard_calls(monkeypatch)
    aws.faults = ["throttled", "unavailable"]
    done = deployed(tmp_path, model, "--expires", "4h")
    assert done.returncode == 0, done.stderr
    # The deadline is there before anything that costs money.
    assert heard.index(f"POST /schedules/{NAME}-expiry") < heard.index("CreateEndpoint")
    ledger = Deployment(tmp_path / "deployments" / NAME).ledger.entries()
    intended = {each.resource.key for each in ledger if each.state is State.INTENDED}
    assert intended == {each.resource.key for each in ledger}
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
    assert Deployment(tmp_path / "deployments" / NAME).healthy_settings() is None
    (certificate,) = (tmp_path / "deployments" / NAME).glob("certificate-*.json")
    content = json.loads(certificate.read_text())
    assert content["tag"] == {"key": "prumo:endpoint", "value": NAME, "listed_though_gone": []}
    looked_for = content["looked_for"]
    assert {"s3-bucket", "iam-role", "sagemaker-endpoint"} <= {each["kind"] for each in looked_for}
    assert all(each["deleted"] and not each["found"] for each in looked_for)
    assert prumo(tmp_path, "leftovers").stdout == "Nothing is left in us-east-1.\n"


@pytest.mark.slow
def test_a_version_that_is_not_healthy_gives_way_to_the_former(
    aws: FakeAws, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert deployed(tmp_path, model).returncode == 0
    before = everything(aws)
    heard = heard_calls(monkeypatch)
    assert "answers as before" in deployed(tmp_path, model).stdout
    assert heard == []

    package(model, b"worse weights")
    aws.faults = ["model error"]
    done = deployed(tmp_path, model)
    assert done.returncode == 2
    assert "the former one answers again" in done.stderr
    assert everything(aws) == before
    deployment = Deployment(tmp_path / "deployments" / NAME)
    assert deployment.settings() == deployment.healthy_settings()

    heard_calls(monkeypatch, {"UpdateEndpoint": refused("ValidationException", "no capacity")})
    done = deployed(tmp_path, model)
    assert "the former one answers again" in done.stderr
    assert "no capacity" in done.stderr
    assert everything(aws) == before

    # A configuration that Terraform refuses changes nothing, so there is nothing to go back to.
    (deployment.terraform_path / "broken.tf").write_text("resource {")
    done = deployed(tmp_path, model)
    assert done.returncode == 2
    assert "going back" not in done.stderr
    assert everything(aws) == before


@pytest.mark.slow
def test_what_belongs_to_somebody_else_is_not_touched(
    aws: FakeAws, tmp_path: Path, model: Path
) -> None:
    aws.client("ecr").create_repository(repositoryName=NAME)
    done = deployed(tmp_path, model)
    assert done.returncode == 2
    assert "ecr-repository 'mobilenet' already, and it is not of this deployment" in done.stderr
    assert everything(aws) == {**nothing(), "repositories": [NAME]}


@pytest.mark.slow
def test_what_a_failed_run_did_not_create_stays_somebody_elses(
    aws: FakeAws, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Deployment(tmp_path / "deployments" / NAME).ledger
    created = []
    for call in ("CreateRepository", "GetAuthorizationToken"):
        with monkeypatch.context() as patch:
            heard_calls(patch, {call: refused("AccessDeniedException", "not allowed")})
            assert "not allowed" in deployed(tmp_path, model).stderr
        created.append([entry.resource.kind for entry in ledger.remaining()])
    assert created == [["s3-bucket"], ["ecr-repository", "s3-bucket"]]

    role = {"RoleName": f"{NAME}-us-east-1", "AssumeRolePolicyDocument": "{}"}
    aws.client("iam").create_role(**role)
    done = deployed(tmp_path, model)
    assert f"iam-role '{NAME}-us-east-1' already, and it is not of this deployment" in done.stderr
    assert "What was created exists and may cost money" in done.stderr
    assert prumo(tmp_path, "destroy", NAME, "--yes").returncode == 0
    assert everything(aws) == {**nothing(), "roles": [f"{NAME}-us-east-1"]}


@pytest.mark.slow
def test_what_somebody_else_creates_meanwhile_stays_theirs(
    aws: FakeAws, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = f"{NAME}-us-east-1"
    heard: list[str] = []

    def answer(call: Call) -> None:
        if call.name == "CreateRole" and call.name not in heard:
            heard.append(call.name)
            aws.client("iam").create_role(RoleName=role, AssumeRolePolicyDocument="{}")

    with monkeypatch.context() as patch:
        answer_calls(patch, answer)
        done = deployed(tmp_path, model)
    assert done.returncode == 2
    assert f"the iam-role '{role}' exists, but Terraform did not create it" in done.stderr
    gone = prumo(tmp_path, "destroy", NAME, "--yes")
    assert gone.returncode == 0, gone.stderr
    assert f"left alone: {role}" in gone.stderr
    assert everything(aws) == {**nothing(), "roles": [role]}


@pytest.mark.slow
def test_a_state_that_went_elsewhere_removes_nothing(
    aws: FakeAws, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TF_CLI_ARGS_apply", "-state=elsewhere.tfstate")
        done = deployed(tmp_path, model)
    assert done.returncode == 2
    assert "its state is not where it should be" in done.stderr
    before = everything(aws)
    assert before["endpoints"] == [NAME]

    monkeypatch.setenv("TF_WORKSPACE", "other")
    monkeypatch.setenv("TF_DATA_DIR", str(tmp_path / "data"))
    done = deployed(tmp_path, model)
    assert done.returncode == 0, done.stderr
    assert everything(aws) == before
    assert not (tmp_path / "data").exists()


def killed_after_changes(
    proxy: KillingProxy, folder: Path, *words: object, kills: int = MOST_KILLS
) -> None:
    """Run a command again and again, killed after a change each time, until there is none left."""
    # One call at a time, or some would be made between a kill and the next.
    environment = os.environ | {
        "TF_CLI_ARGS_apply": "-parallelism=1",
        "AWS_ENDPOINT_URL": proxy.url,
    }
    command = [sys.executable, "-m", "prumo", "endpoint", *map(str, words)]
    for _ in range(MOST_KILLS):
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=PIPE
        ) as process:
            if len(proxy.killed_after) < kills:
                proxy.victim = process.pid
            _, complaint = process.communicate()
        proxy.victim = None
        psutil.wait_procs(proxy.orphans)
        if process.returncode != -signal.SIGKILL:
            assert process.returncode == 0, complaint.decode()
            return
    pytest.fail("it never ended")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("terraform_dies", "kills"), [(True, MOST_KILLS), (False, 1)], ids=["all", "prumo-alone"]
)
def test_killed_after_changes_of_the_account_it_creates_and_leaves_nothing_twice(
    aws: FakeAws, tmp_path: Path, model: Path, terraform_dies: bool, kills: int
) -> None:
    # Alone it is killed in the middle of Terraform's work.
    only = "" if terraform_dies else "CreateRole|DeleteModel"
    with killing_proxy(aws.moto_url, with_children=terraform_dies, only=only) as proxy:
        words = ("deploy", model.name, "--image", "lean:1", *SERVERLESS, "--expires", "4h")
        killed_after_changes(proxy, tmp_path, *words, kills=kills)
        assert {kind: len(names) for kind, names in everything(aws).items()} == {
            **dict.fromkeys(nothing(), 1),
            "roles": 2,
            "targets": 0,
        }
        killed_after_changes(proxy, tmp_path, "destroy", NAME, "--yes", kills=2 * kills)
    assert everything(aws) == nothing()
    kinds = {"CreateRole", "DeleteModel"}
    if terraform_dies:
        kinds |= {"PUT 0", "CreateRepository", "PutImage", "PUT 1", "setting", "CreateModel"}
        kinds |= {"CreateEndpointConfig", "CreateEndpoint", "DeleteEndpoint", "DeleteRole"}
    assert kinds <= set(proxy.killed_after)


@pytest.mark.slow
def test_killed_while_its_version_changes_it_goes_on(
    aws: FakeAws, tmp_path: Path, model: Path
) -> None:
    assert deployed(tmp_path, model).returncode == 0
    package(model, b"other weights")
    with killing_proxy(aws.moto_url, only="CreateModel|CreateEndpointConfig|UpdateEnd") as proxy:
        killed_after_changes(
            proxy, tmp_path, "deploy", model.name, "--image", "lean:1", *SERVERLESS
        )
    assert proxy.killed_after == ["CreateModel", "CreateEndpointConfig", "UpdateEndpoint"]
    found = everything(aws)
    assert len(found["models"]) == len(found["configurations"]) == 1


@pytest.mark.slow
def test_a_call_that_arrives_after_its_process_was_killed_is_not_made_twice(
    aws: FakeAws, tmp_path: Path, model: Path
) -> None:
    words = ("deploy", model.name, "--image", "lean:1", *SERVERLESS)
    with killing_proxy(aws.moto_url, only="none", held_up="CreateRole") as proxy:
        killed_after_changes(proxy, tmp_path, *words)
    # The second arrived right after the first, and was refused.
    assert proxy.calls.count(f"CreateRole {NAME}-us-east-1") == 1
    assert everything(aws)["roles"] == [f"{NAME}-us-east-1"]


@pytest.mark.slow
def test_instances_that_scale_are_killed_resumed_and_removed_without_terraform(
    aws: FakeAws, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("deploy", model.name, "--image", "lean:1", *REAL_TIME)
    only = "CreateEndpoint|RegisterScalableTarget|PutScalingPolicy"
    with killing_proxy(aws.moto_url, only=only) as proxy:
        killed_after_changes(proxy, tmp_path, *words)
    assert {"RegisterScalableTarget", "PutScalingPolicy"} <= set(proxy.killed_after)
    assert everything(aws)["targets"] == [f"endpoint/{NAME}/variant/AllTraffic"]

    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path / "bin"))
        heard = heard_calls(patch)
        gone = prumo(tmp_path, "destroy", NAME, "--yes")
    assert gone.returncode == 0, gone.stderr
    assert "Terraform failed, removing by the ledger" in gone.stderr
    assert heard.index("DeregisterScalableTarget") < heard.index("DeleteEndpoint")
    assert everything(aws) == nothing()

    # The state was put away; one in S3 would have stayed, and is no hindrance either.
    state = tmp_path / "deployments" / NAME / "terraform" / "terraform.tfstate"
    state.with_name("terraform.tfstate.removed").rename(state)
    again = prumo(tmp_path, *words)
    assert again.returncode == 0, again.stderr
    assert everything(aws)["endpoints"] == [NAME]


@pytest.mark.slow
def test_a_state_in_s3_is_locked_there_and_does_not_move_by_itself(
    aws: FakeAws, tmp_path: Path, model: Path
) -> None:
    aws.client("s3").create_bucket(Bucket="states")
    done = deployed(tmp_path, model, "--state", "s3://states/prumo")
    assert done.returncode == 0, done.stderr
    objects = aws.client("s3").list_objects_v2(Bucket="states")["Contents"]
    assert [each["Key"] for each in objects] == [f"prumo/{NAME}/terraform.tfstate"]
    moved = deployed(tmp_path, model)
    assert moved.returncode == 2
    assert "give --state s3://states/prumo as before" in moved.stderr
    assert "terraform init -migrate-state" in moved.stderr
    assert prumo(tmp_path, "destroy", NAME, "--yes").returncode == 0
    assert everything(aws) == {**nothing(), "buckets": ["states"]}


@pytest.mark.slow
def test_an_apply_that_fails_half_way_can_be_completed_and_removed(
    aws: FakeAws, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard_calls(monkeypatch, {"CreateEndpoint": refused("ValidationException", "no capacity")})
    done = deployed(tmp_path, model)
    assert done.returncode == 2
    assert "no capacity" in done.stderr
    assert "run the same command again, or prumo endpoint destroy mobilenet" in done.stderr
    assert everything(aws)["endpoints"] == []
    assert deployed(tmp_path, model).returncode == 0
    assert prumo(tmp_path, "destroy", NAME, "--yes").returncode == 0
    assert everything(aws) == nothing()


@pytest.mark.slow
def test_what_the_account_does_not_allow_is_refused_before_anything_is_created(
    aws: FakeAws, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws.quotas = {"ml.m5.large for endpoint usage": 1.0}
    words = ("deploy", model.name, "--image", "lean:1")
    quota = prumo(tmp_path, *words, *REAL_TIME)
    assert quota.returncode == 2
    assert "is 1 in us-east-1, and 2 are needed at once; ask AWS for more" in quota.stderr

    with monkeypatch.context() as patch:
        taken = refused("AccessDenied", "Forbidden", 403)
        heard_calls(patch, {f"HEAD /{NAME}-123456789012": taken})
        done = deployed(tmp_path, model)
    assert done.returncode == 2
    assert "is taken by another account" in done.stderr
    assert "choose another --name" in done.stderr

    with monkeypatch.context() as patch:
        answer_calls(patch, lambda _: expired())
        done = deployed(tmp_path, model, "--name", "other")
    assert done.returncode == 2
    assert "renew them with `aws sso login` or new keys" in done.stderr
    assert not (tmp_path / "deployments" / "other").exists()
    assert everything(aws) == nothing()


@pytest.mark.usefixtures("aws")
def test_a_certificate_tells_resources_of_one_name_apart(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path / "deployments" / NAME)
    for kind in ("ecr-repository", "sagemaker-endpoint"):
        resource = Resource(kind, NAME, "us-east-1")
        deployment.ledger.record(resource, State.CREATED)
        if kind == "ecr-repository":
            deployment.ledger.record(resource, State.DELETED)
    repository, endpoint = certificate(deployment, Account("us-east-1"))["looked_for"]
    assert repository["deleted"]
    assert endpoint["created"]
    assert endpoint["deleted"] is None

    elsewhere = Resource("ecr-repository", NAME, "sa-east-1")
    Account("sa-east-1").client("ecr").create_repository(repositoryName=NAME)
    deployment.ledger.record(elsewhere, State.CREATED)
    with pytest.raises(PrumoError, match="came back after its removal"):
        certificate(deployment, Account("us-east-1"))


def test_a_store_takes_neither_a_bucket_of_others_nor_a_model_that_has_changed(
    aws: FakeAws, model: Path
) -> None:
    account, bucket = Account("us-east-1"), Resource("s3-bucket", "models", "us-east-1")
    aws.client("s3").create_bucket(Bucket="models")
    with pytest.raises(InputError, match="choose another --name"):
        create_store(account, bucket, is_ours=False)
    create_store(account, bucket, is_ours=True)
    key = model_key(model)
    package(model, b"other weights")
    with pytest.raises(InputError, match="has changed since"):
        upload_model(account, model, "models", key, SILENT)
    upload_model(account, model, "models", model_key(model), SILENT)
    (stored,) = aws.client("s3").list_objects_v2(Bucket="models")["Contents"]
    assert stored["Key"] == model_key(model) != key


def test_only_what_an_endpoint_needs_waits_for_its_removal(
    aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = Account("us-east-1")
    role = "arn:aws:iam::123456789012:role/expiry"
    sagemaker, region = aws.client("sagemaker"), "us-east-1"
    sagemaker.create_model(ModelName=NAME, ExecutionRoleArn=role)
    variant = {"VariantName": "all", "ModelName": NAME, "InstanceType": "ml.m5.large"}
    sagemaker.create_endpoint_config(EndpointConfigName=NAME, ProductionVariants=[variant])
    sagemaker.create_endpoint(EndpointName=NAME, EndpointConfigName=NAME)
    aws.client("ecr").create_repository(repositoryName=NAME)
    aws.client("scheduler").create_schedule(
        Name=NAME,
        ScheduleExpression="at(2030-01-01T00:00:00)",
        FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": "arn:aws:scheduler:::aws-sdk:sagemaker:deleteEndpoint", "RoleArn": role},
    )
    aws.client("s3").create_bucket(Bucket=NAME)
    ledger = Ledger(tmp_path / "ledger.jsonl")
    kinds = ("s3-bucket", "sagemaker-model", "sagemaker-endpoint-config", "sagemaker-endpoint")
    for kind in (*kinds, "ecr-repository", "schedule"):
        ledger.record(Resource(kind, NAME, region), State.CREATED)

    refusals = {"DeleteEndpoint", "DeleteRepository"}
    no = refused("AccessDeniedException", "not allowed")
    answer_calls(monkeypatch, lambda call: no if call.name in refusals else None)
    removal = Removal(ledger, lambda _: None)
    assert len(removal.remove(0)) == len(ledger.entries())
    assert account.client("scheduler").get_schedule(Name=NAME)
    refusals.discard("DeleteEndpoint")
    (remains,) = removal.remove(0)
    assert remains.kind == "ecr-repository"
    assert everything(aws) == {**nothing(), "repositories": [NAME]}


def test_a_lock_that_a_killed_run_has_left_is_reported_with_its_removal(tmp_path: Path) -> None:
    stuck = tmp_path / "terraform"
    lock = "0c1d2e3f-0000-1111-2222-333344445555"
    said = f"Error acquiring the state lock\nLock Info:\n  ID:        {lock}"
    stuck.write_text(f"#!/bin/sh\necho '{said}' >&2; exit 1\n")
    stuck.chmod(0o755)
    terraform = Terraform(tmp_path)
    terraform.program = str(stuck)
    with pytest.raises(TerraformError, match=f"terraform force-unlock {lock}` in {tmp_path}"):
        terraform.state(is_remote=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "No_Name"}, "2 to 40 lowercase letters"),
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
    graviton = ("--image", "lean:1", "--instance-type", "ml.c7g.large", "--yes")
    intel = prumo(tmp_path, "deploy", model.name, *graviton)
    assert intel.returncode == 2
    assert "is for amd64, and ml.c7g.large needs arm64" in intel.stderr
    without = deployed(tmp_path, model)
    assert without.returncode == 2
    assert "Terraform is not installed, nor OpenTofu" in without.stderr
    bare = tmp_path / "bare.tar.gz"
    with tarfile.open(bare, "w:gz") as archive:
        archive.add(model, "weights")
    assert "has no manifest.json" in deployed(tmp_path, bare).stderr
    monkeypatch.setenv("PATH", "/nonexistent")
    no_engine = deployed(tmp_path, model)
    assert no_engine.returncode == 2
    assert "Docker" in no_engine.stderr
    assert "no deployment 'other'" in prumo(tmp_path, "destroy", "other").stderr
    assert not (tmp_path / "deployments").exists()


@pytest.mark.usefixtures("aws")
def test_two_at_once_do_not_mix(tmp_path: Path, model: Path) -> None:
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
