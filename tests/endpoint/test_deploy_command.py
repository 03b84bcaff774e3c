"""`prumo endpoint deploy` and its companions, from a model to what a terminal shows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from prumo.errors import InputError
from prumo.progress import SILENT
from prumo_endpoint.commands import command
from prumo_endpoint.deploy.artifacts import built_image
from prumo_endpoint.deploy.deployment import Deployment, Settings
from prumo_endpoint.deploy.push import image_architecture, image_tag
from prumo_endpoint.image.engine import Engine, own_platform
from prumo_endpoint.ledger import Resource, State
from support import fake_docker
from support.fake_sagemaker import fake_aws
from support.model_packages import write_colour_package, write_network
from support.terraform import provider_mirror, terraform_program

if TYPE_CHECKING:
    from click.testing import Result

ISSUED = ("--kind", "serverless", "--memory", "2048", "--region", "us-east-1")
MEANING = ("--", "--labels", "red,green,blue", "--normalization", "0..1")
WIDTH = 80
MOST_LINES = 5


@pytest.fixture(autouse=True)
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = f"{fake_docker.put_on_path(tmp_path / 'bin')}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    return write_network(tmp_path / "colours.onnx")


def endpoint(*words: object) -> Result:
    return CliRunner().invoke(command, [*map(str, words)])


def prumo(*words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "prumo", "endpoint", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def fits(text: str) -> bool:
    return all(len(line) <= WIDTH for line in text.splitlines())


def test_a_plan_and_its_price_are_shown_and_nothing_is_made(tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))
    shown = endpoint("deploy", "colours.onnx", *ISSUED, "--expires", "4h", "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith(
        "To be made here: package of colours.onnx, image for amd64 on python:3."
    )
    assert "us-east-1: bucket, repository, 2 roles, log group, schedule" in shown.stdout
    assert "$0.04 per 1,000 answers of 1 s each" in shown.stdout
    assert "at most $2.88 for computing until" in shown.stdout
    assert len(shown.stdout.splitlines()) <= MOST_LINES
    assert fits(shown.stdout)
    words = ("--instance-type", "ml.m5.large", "--instances-max", "2", "--dry-run", "--json")
    plan = json.loads(endpoint("deploy", "colours.onnx", *words).stdout)
    assert plan["bill"]["worst"] == pytest.approx(2 * 0.115 * 730)
    assert plan["plan"]["creates"]["scaling-policy"] == 1
    assert plan["plan"]["creates"]["sagemaker-endpoint"] == 1
    assert "schedule" not in plan["plan"]["creates"]
    assert set(tmp_path.rglob("*")) == before


def test_a_region_that_does_not_exist_is_refused_before_a_plan() -> None:
    words = ("--memory", "2048", "--region", "mars-1", "--dry-run")
    refused = endpoint("deploy", "colours.onnx", *words)
    assert isinstance(refused.exception, InputError)
    assert "there is no SageMaker in the region 'mars-1'" in str(refused.exception)


def test_a_deadline_stays_until_another_or_none_is_given(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path / "deployments" / "colours")
    former = "2099-01-01T00:00:00Z"
    settings = Settings("colours", "us-east-1", None, "x", memory_mb=2048, expires_at=former)
    deployment.write_settings(settings)

    def deadline(*words: str) -> str | None:
        shown = endpoint("deploy", "colours.onnx", *ISSUED, *words, "--dry-run", "--json")
        planned: str | None = json.loads(shown.stdout)["settings"]["expires_at"]
        return planned

    assert deadline() is None
    deployment.ledger.record(Resource("ecr-repository", "colours", "us-east-1"), State.CREATED)
    assert deadline() == former
    assert deadline("--expires", "never") is None
    assert deadline("--expires", "4h") not in {None, former}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kind", "real-time", "--memory", "2048"), "--instance-type for real-time"),
        (("--kind", "serverless", "--instance-type", "ml.m5.large"), "--memory is for serverless"),
        (("--memory", "1024", "--instances-max", "2"), "only real-time endpoints have it"),
        (("--instance-type", "ml.m5.large", "--max-concurrency", "2"), "only serverless"),
        (("--memory", "1024", "--image", "a", "--base", "b"), "leave --image out"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(words: tuple[str, ...], message: str) -> None:
    refused = endpoint("deploy", "colours.onnx", *words)
    assert refused.exit_code == 2
    assert message in refused.stderr


def test_a_model_that_cannot_be_packaged_leaves_nothing_and_says_what_it_needs(
    tmp_path: Path,
) -> None:
    (tmp_path / "bin" / "terraform").symlink_to("/bin/true")
    refused = endpoint("deploy", "colours.onnx", *ISSUED, "--yes").exception
    assert isinstance(refused, InputError)
    assert "--labels red,green,blue" in str(refused)
    assert "follow after --" in str(refused)
    write_colour_package(tmp_path / "folder")
    folder = endpoint("deploy", "folder", *ISSUED, "--yes").exception
    assert "is a package in a folder" in str(folder)
    assert not (tmp_path / "deployments").exists()


def test_an_image_is_named_by_its_content_and_built_only_once(tmp_path: Path) -> None:
    package = tmp_path / "colours.tar.gz"
    write_colour_package(package)

    def image(base: str, **size: Any) -> str:
        # This engine cannot build; it has every image already.
        return built_image(
            Settings("colours", "us-east-1", str(package), "", base=base, **size), SILENT
        )

    lean = image("debian", memory_mb=1024)
    assert lean.startswith("prumo-lean:onnxruntime-")
    assert image("debian", memory_mb=4096) == lean
    assert image("another", memory_mb=1024) != lean
    assert image("arm-debian", instance_type="ml.m7g.large") != lean
    with pytest.raises(
        InputError, match="is for linux/amd64, and the image is to be for linux/arm"
    ):
        image("debian", instance_type="ml.m7g.large")


@pytest.mark.slow
def test_a_model_becomes_an_endpoint_whose_price_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terraform_program()
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(provider_mirror(tmp_path)))
    with fake_aws() as aws:
        for name, value in aws.environment.items():
            monkeypatch.setenv(name, value)
        wanted = ("deploy", "colours.onnx", *ISSUED, "--expires", "4h", "--yes", "--json", *MEANING)
        first = json.loads(prumo(*wanted))
        assert first["settings"]["image"].startswith("prumo-lean:onnxruntime-")
        assert Path(first["settings"]["model"]).parent == tmp_path / "deployments" / "colours"
        ledger = Deployment(tmp_path / "deployments" / "colours").ledger
        created = Counter(entry.resource.kind for entry in ledger.remaining())
        assert first["plan"]["creates"] == created

        shown = endpoint("show", "colours").stdout
        assert shown.startswith("colours in us-east-1: InService\nserverless, 2048 MB: $0.04")
        assert {line.split()[0] for line in shown.splitlines()[4:]} == created.keys()
        assert json.loads(endpoint("show", "colours", "--json").stdout)["bill"]["worst"] < 2.88

        size = ("--max-concurrency", "2", "--provisioned-concurrency", "1")
        planned = endpoint("update", "colours", *size, "--dry-run").stdout
        assert planned.startswith("To be changed: concurrency 5 → 2, provisioned concurrency none")
        again = json.loads(prumo("update", "colours", *size, "--yes", "--json"))
        assert again["is_changed"]
        assert again["plan"]["creates"] == {}
        listed = endpoint("list").stdout
        assert listed.startswith(
            "1 of 1 running: $0.036 an hour while idle, at most $0.324 an hour"
        )
        assert "serverless 2 GB  $0.036/hour + $0.04/1,000  20" in listed
        assert fits(listed)


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.parametrize("program", ["podman", "buildah"])
def test_an_image_of_another_engine_than_docker_has_its_digest_and_architecture(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    store = {
        "driver": "vfs",
        "graphroot": str(tmp_path / "store"),
        "runroot": str(tmp_path / "run"),
    }
    lines = [f'{name} = "{value}"' for name, value in store.items()]
    (tmp_path / "storage.conf").write_text("\n".join(["[storage]", *lines]))
    monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(tmp_path / "storage.conf"))
    monkeypatch.setenv("BUILDAH_ISOLATION", "chroot")
    only = tmp_path / "only"
    only.mkdir()
    (only / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(only))
    context = tmp_path / "context"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")

    Engine(program).build(context, "tiny", own_platform(), {}, SILENT)

    assert len(bytes.fromhex(image_tag("tiny"))) == 8
    assert own_platform() == f"linux/{image_architecture('tiny')}"
    Engine(program).save("tiny", tmp_path / "tiny.tar")
    assert (tmp_path / "tiny.tar").is_file()
    with pytest.raises(InputError, match="no image 'other' on this machine"):
        image_tag("other")
