"""The proxy to SageMaker, the ledger and the removal, without a study around them."""

from __future__ import annotations

import http.client
import json
import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.ledger import Ledger, Resource, State
from prumo_endpoint.sagemaker import LEDGER_FILE
from prumo_endpoint.sagemaker.deployment import architecture_of
from prumo_endpoint.sagemaker.proxy import running_proxy
from prumo_endpoint.sagemaker.resources import BUCKET, ENDPOINT, MODEL, Removal, by_hand
from support.aws_faults import network
from support.fake_sagemaker import REGION, FakeAws, fake_aws
from support.model_packages import write_colour_package
from support.served_process import served_process

if TYPE_CHECKING:
    from conftest import Prumo


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with fake_aws() as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        yield fake


def _connection(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=30)


def test_what_aws_answers_arrives_as_its_status_and_reason_and_nothing_is_retried(
    aws: FakeAws,
) -> None:
    expected = {
        "throttled": (429, "ThrottlingException"),
        "validation": (400, "ValidationError"),
        "expired": (403, "ExpiredTokenException"),
        "internal": (500, "InternalFailure"),
        "dependency": (530, "InternalDependencyException"),
        "unavailable": (503, "ServiceUnavailable"),
        "model error": (424, "ModelError 500"),
    }
    aws.faults = list(expected)
    with running_proxy("asked", REGION) as port, closing(_connection(port)) as connection:
        found = {}
        for fault in expected:
            connection.request("POST", "/invocations", b"x" * 9, {"Content-Type": "image/jpeg"})
            answer = connection.getresponse()
            found[fault] = (answer.status, json.loads(answer.read())["error"]["kind"])
        connection.request("POST", "/invocations", b"x", {"Content-Type": "image/jpeg"})
        assert json.loads(connection.getresponse().read())["boot_id"] == "asked-1"

    assert found == expected
    assert len(aws.bodies) == len(expected) + 1
    assert "/us-east-1/sagemaker/aws4_request" in aws.signatures[0]


def test_a_runtime_that_cannot_be_reached_is_an_answer_too(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", "http://127.0.0.1:9")
    with running_proxy("asked", REGION) as port, closing(_connection(port)) as connection:
        connection.request("POST", "/invocations", b"x")
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["error"]["kind"]) == (502, "no_answer")
    assert aws.bodies == []


def test_a_network_that_is_lost_leaves_no_request_without_an_answer(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    with network(aws.url) as way:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", way.url)
        with running_proxy("asked", REGION) as port, closing(_connection(port)) as connection:
            found = []
            for number in range(30):
                way.is_cut = number > 0
                connection.request("POST", "/invocations", b"x")
                answer = connection.getresponse()
                said = json.loads(answer.read())
                found.append((answer.status, said.get("error", {}).get("kind")))
                way.cut()

    # Connections that break before the request is sent are the ones to be afraid of.
    assert found == [(200, None)] + [(502, "no_answer")] * 29


def test_prumos_server_behind_sagemaker_says_which_start_of_it_answered(
    aws: FakeAws, tmp_path: Path
) -> None:
    write_colour_package(tmp_path / "package")
    body = drawn_body()
    with served_process(tmp_path / "package", tmp_path / "log") as server:
        server.await_ready()
        aws.container_port = server.port
        boot_id = server.ask("GET", "/ping").headers["x-prumo-boot-id"]
        with running_proxy("asked", REGION) as port, closing(_connection(port)) as connection:
            answers = []
            for own in ({}, {"X-Amzn-SageMaker-Custom-Attributes": "the caller's own"}):
                headers = {"Content-Type": body.content_type, **own}
                connection.request("POST", "/invocations", body.content, headers)
                answers.append(connection.getresponse())
                assert answers[-1].status == 200, answers[-1].read()
                answers[-1].read()

    assert answers[0].headers["X-Prumo-Boot-Id"] == boot_id
    assert answers[1].headers["X-Amzn-SageMaker-Custom-Attributes"] == "the caller's own"


def test_a_ledger_survives_a_line_that_a_crash_has_cut(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    model, endpoint = Resource(MODEL, "a", REGION, "a"), Resource(ENDPOINT, "a", REGION, "a")
    ledger.record(model, State.INTENDED)
    ledger.record(model, State.CREATED)
    with ledger.path.open("a") as file:
        file.write('{"time": "2026-01-01T00:00:00+00:00", "sta')
    ledger.record(endpoint, State.INTENDED)

    assert [entry.resource for entry in ledger.remaining()] == [endpoint, model]
    ledger.record(model, State.DELETED)
    assert [entry.resource for entry in ledger.remaining()] == [endpoint]
    assert by_hand([endpoint]) == [
        "aws sagemaker delete-endpoint --region us-east-1 --endpoint-name a"
    ]


def test_a_lost_network_leaves_everything_in_the_ledger(
    tmp_path: Path, aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.record(Resource(BUCKET, "kept", REGION), State.CREATED)
    aws.client("s3").create_bucket(Bucket="kept")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    heard: list[str] = []
    removal = Removal(ledger, heard.append)

    assert [each.name for each in removal.remove(patience_seconds=0)] == ["kept"]
    assert "cannot remove it yet" in heard[0]
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.moto_url)
    assert removal.remove(patience_seconds=5) == []
    assert aws.resources() == []


def test_clean_removes_what_a_dead_machine_left(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws
) -> None:
    ledger = Ledger(tmp_path / LEDGER_FILE)
    ledger.record(Resource(BUCKET, "left", REGION), State.CREATED)
    aws.client("s3").create_bucket(Bucket="left")

    result = prumo_here("endpoint", "clean", tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 resources removed, 0 remain" in result.stdout
    assert aws.resources() == []
    absent = prumo_here("endpoint", "clean", tmp_path / "absent")
    assert absent.returncode == 2
    assert "nothing was created on SageMaker" in absent.stderr


@pytest.mark.parametrize(
    ("instance_type", "architecture"),
    [
        ("ml.m6g.xlarge", "arm64"),
        ("ml.c7g.xlarge", "arm64"),
        ("ml.c6gn.xlarge", "arm64"),
        ("ml.m4.xlarge", "amd64"),
        ("ml.g4dn.xlarge", "amd64"),
        ("ml.g5.xlarge", "amd64"),
        (None, "amd64"),
    ],
)
def test_graviton_instances_need_an_arm_image(instance_type: str | None, architecture: str) -> None:
    assert architecture_of(instance_type) == architecture
