"""What goes wrong on SageMaker: late points, slow endpoints, expired credentials, nobody's yes."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prumo_endpoint.ledger import Ledger, Resource, State
from prumo_endpoint.load.request_table import REQUESTS_FILE, RequestTable, Row, read_requests
from prumo_endpoint.load.sent import Sent
from prumo_endpoint.sagemaker import LEDGER_FILE, cloudwatch, deployment
from prumo_endpoint.sagemaker.account import Account
from prumo_endpoint.sagemaker.cloudwatch import CLOUDWATCH_FILE, CloudWatch, read_points
from prumo_endpoint.sagemaker.keeper import LOG_ENDING
from prumo_endpoint.sagemaker.resources import PUBLIC_REPOSITORY, Removal
from support.aws_faults import Answer, Call, answer_calls, expired, network, refused
from support.command_study import records
from support.fake_sagemaker import REGION, ROLE, FakeAws, fake_aws
from support.heard_progress import Heard
from support.terminal import answered_at_terminal

if TYPE_CHECKING:
    from conftest import Prumo

ENDPOINT = "asked"
OLD_KEY, NEW_KEY = "AKIAOLD", "AKIANEW"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with fake_aws() as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PRUMO_CLOUDWATCH_SECONDS", "0.5")
        fake.push_image("served:1", "amd64")
        yield fake


def write_study(folder: Path, **fixed: Any) -> Path:
    (folder / "model").mkdir()
    (folder / "model" / "weights").write_bytes(b"w")
    study = {
        "name": "cloud",
        "workload": {"kind": "requests"},
        "factors": {"machine": ["2gb"]},
        "fixed": {
            "target": "sagemaker",
            "experiment": "real-time",
            "model": "model",
            "image": "served:1",
            "execution_role": ROLE,
            "requests": 4,
            "interval_seconds": 0.02,
            "most_lateness_share": 100,
            **fixed,
        },
        "machines": {"2gb": {"price": "sagemaker/serverless-2gb@us-east-1"}},
        "measure": {"sample_seconds": 0.5, "stop_seconds": 2},
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path


def requests_now(folder: Path, count: int) -> tuple[list[Row], float]:
    """Rows of requests that were answered in the last seconds, and when they began."""
    with RequestTable(folder / "r.csv", [("a.jpg", 9)], starts_on_demand=True) as table:
        for number in range(count):
            due = 0.1 * number
            table.record(Sent(number, 0, due, due, due, due + 0.05, due + 0.05, status=200))
    return table.rows, time.time() - 1


class TestPointsOfCloudWatch:
    @pytest.fixture(autouse=True)
    def _quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cloudwatch, "_POLL_SECONDS", 0.05)

    def test_points_that_come_late_and_in_parts_are_waited_for(
        self, aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PRUMO_CLOUDWATCH_SECONDS", "30")
        rows, began = requests_now(tmp_path, 3)
        heard = Heard()

        def arrive() -> None:
            for _ in rows:
                seen = len(heard.shown)
                while len(heard.shown) < seen + 2:
                    time.sleep(0.01)
                aws.count(ENDPOINT, 0.25, None)

        thread = threading.Thread(target=arrive)
        thread.start()
        figures = CloudWatch(Account(REGION), ENDPOINT, ["all"], progress=heard).collect(
            rows, began, tmp_path
        )
        thread.join()

        assert figures["cloudwatch_missing"] == 0
        assert figures["model_latency_seconds"] == pytest.approx(0.25)
        points = read_points(tmp_path / CLOUDWATCH_FILE)
        assert sum(each.samples for each in points if each.metric == "ModelLatency") == 3
        assert heard.said == []

    def test_points_that_never_come_are_counted_as_missing(
        self, aws: FakeAws, tmp_path: Path
    ) -> None:
        rows, began = requests_now(tmp_path, 3)
        aws.count(ENDPOINT, 0.25, None)
        heard = Heard()
        figures = CloudWatch(Account(REGION), ENDPOINT, ["all"], progress=heard).collect(
            rows, began, tmp_path
        )

        assert figures["cloudwatch_missing"] == 2
        assert figures["model_latency_seconds"] == pytest.approx(0.25)
        assert heard.said == ["CloudWatch has nothing on 2 requests by now"]

    def test_credentials_that_expire_meanwhile_are_reported_once_and_cost_only_the_points(
        self, aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows, began = requests_now(tmp_path, 2)
        aws.count(ENDPOINT, 0.25, None)
        answer_calls(monkeypatch, lambda _: expired())
        heard = Heard()
        figures = CloudWatch(Account(REGION), ENDPOINT, ["all"], progress=heard).collect(
            rows, began, tmp_path
        )

        assert figures == {"cloudwatch_missing": 2}
        assert len(heard.said) == 2
        assert "the AWS credentials do not work: The security token" in heard.said[0]


@pytest.mark.slow
def test_a_report_says_how_many_answers_have_no_point(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws
) -> None:
    aws.points_are_late = True
    result = prumo_here("run", write_study(tmp_path), "--results", "results", "--yes")
    assert result.returncode == 0, result.stdout + result.stderr
    report = prumo_here("report", "results").stdout
    assert "CloudWatch had no points of 4 answers when the runs stopped waiting" in " ".join(
        report.split()
    )


class SlowEndpoints:
    """Endpoints that are `Creating` for some looks, and cannot be removed as long as they are."""

    def __init__(self, looks: float) -> None:
        self.looks = looks
        self.refusals = 0
        self.names: list[str] = []

    def __call__(self, call: Call) -> Answer | None:
        if call.name == "CreateEndpoint":
            self.names.append(json.loads(call.body)["EndpointName"])
        if call.name == "DescribeEndpoint" and self.names and self.looks > 0:
            self.looks -= 1
            return Answer({"EndpointName": self.names[-1], "EndpointStatus": "Creating"})
        if call.name == "DeleteEndpoint" and self.looks > 0:
            # Only what SageMaker has made or given up can be deleted.
            self.refusals += 1
            self.looks = 0 if self.refusals > 1 else self.looks
            return refused("ValidationException", "Cannot update in-progress endpoint")
        return None


@pytest.mark.slow
def test_an_endpoint_that_takes_its_time_is_waited_for(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowEndpoints(looks=5)
    answer_calls(monkeypatch, slow)
    monkeypatch.setattr(deployment, "_POLL_SECONDS", 0.05)
    result = prumo_here("run", write_study(tmp_path), "--results", "results", "--yes")

    assert result.returncode == 0, result.stdout + result.stderr
    assert slow.looks == 0
    assert [each["verdict"] for each in records(tmp_path / "results").values()] == ["finished"]
    assert aws.resources() == []


def test_an_endpoint_that_never_comes_into_service_is_given_up_and_removed(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowEndpoints(looks=float("inf"))
    answer_calls(monkeypatch, slow)
    monkeypatch.setattr(deployment, "_POLL_SECONDS", 0.05)
    monkeypatch.setattr(deployment, "_READY_SECONDS", 0.5)
    result = prumo_here("run", write_study(tmp_path), "--results", "results", "--yes")

    (record,) = records(tmp_path / "results").values()
    assert record["verdict"] == "unavailable", result.stdout + result.stderr
    assert f"endpoint {slow.names[0]} is Creating: no success after" in record["reason"]
    assert len(slow.names) == 1
    assert slow.refusals == 2
    assert aws.resources() == []
    assert Ledger(tmp_path / "results" / LEDGER_FILE).remaining() == []


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        ("n", 2, "nothing was started: runs that cost money need your yes, or --yes"),
        pytest.param("y", 0, "spent on SageMaker: about $", marks=pytest.mark.slow),
    ],
)
def test_a_run_asks_at_a_terminal_before_it_spends_money(
    tmp_path: Path, aws: FakeAws, answer: str, code: int, message: str
) -> None:
    words = ("run", write_study(tmp_path), "--results", "results")
    found, shown = answered_at_terminal(tmp_path, answer, *words)

    assert found == code, shown
    assert "price: up to $" in shown.partition("Start it? [y/N]")[0]
    assert message in shown
    assert aws.resources() == []
    assert (tmp_path / "results" / LEDGER_FILE).exists() is (answer == "y")


@pytest.mark.slow
def test_credentials_that_expire_in_a_run_make_it_invalid_and_renewed_ones_remove_everything(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    content = "[default]\naws_access_key_id={key}\naws_secret_access_key=fake\n"
    file.write_text(content.format(key=OLD_KEY))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    aws.faults = ["", "", *["expired"] * 10]
    refusals: list[str] = []

    def answer(call: Call) -> Answer | None:
        if call.access_key != OLD_KEY or not aws.bodies:
            return None
        refusals.append(call.name)
        # Removal meets the old key once; then somebody renews it.
        if call.name in {"GetCallerIdentity", "DescribeEndpoint"}:
            file.write_text(content.format(key=NEW_KEY))
        return expired()

    answer_calls(monkeypatch, answer)
    result = prumo_here("run", write_study(tmp_path), "--results", "results", "--yes")

    (record,) = records(tmp_path / "results").values()
    assert record["verdict"] == "invalid", result.stdout + result.stderr
    assert "the AWS credentials did not work for 2 of 4 requests; renew them" in record["reason"]
    assert result.returncode == 1
    assert refusals
    assert "cannot remove it yet" in result.stdout
    assert "the AWS credentials do not work: The security token" in result.stdout
    assert aws.resources() == []
    assert Ledger(tmp_path / "results" / LEDGER_FILE).remaining() == []


@pytest.mark.slow
def test_each_request_keeps_its_verdict_and_failures_in_a_row_end_the_sequence(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws
) -> None:
    aws.faults = [
        "",
        "throttled",
        "model error",
        "",
        "hang",
        "cold",
        *[""] * 24,
        *["throttled"] * 30,
    ]
    study = write_study(tmp_path, requests=30, answer_seconds=1, stop_after_failures=3)
    study.write_text(json.dumps(json.loads(study.read_text()) | {"replications": 2}))
    result = prumo_here("run", study, "--results", "results", "--yes")

    first, second = (
        (record, read_requests(tmp_path / "results" / "runs" / name / REQUESTS_FILE))
        for name, record in sorted(records(tmp_path / "results").items())
    )
    assert result.returncode == 1, result.stdout + result.stderr
    record, rows = first
    assert [(row.outcome, row.status, row.reason, row.is_cold) for row in rows] == [
        ("answered", 200, "", True),
        ("refused", 429, "ThrottlingException", None),
        ("refused", 424, "ModelError 500", None),
        ("answered", 200, "", False),
        ("late", None, "", None),
        # A new boot id proves that this one had to start an instance.
        ("answered", 200, "", True),
        *[("answered", 200, "", False)] * 24,
    ]
    assert rows[5].boot_id == rows[7].boot_id != rows[3].boot_id
    assert record["verdict"] == "finished"
    assert record["metrics"]["failed_requests"] == 3
    assert record["metrics"]["cold_answers"] == 2
    record, rows = second
    assert record["verdict"] == "crashed"
    assert "no request was answered: " in record["reason"]
    assert len(rows) == 3
    assert {row.reason for row in rows} == {"ThrottlingException"}
    assert aws.resources() == []


@pytest.mark.slow
def test_a_run_that_loses_the_network_is_recorded_and_everything_removed_once_it_is_back(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "results" / f"{LEDGER_FILE}{LOG_ENDING}"
    study = write_study(tmp_path, requests=500, stop_after_failures=3)
    with network(aws.moto_url) as to_aws, network(aws.url) as to_runtime:
        monkeypatch.setenv("AWS_ENDPOINT_URL", to_aws.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", to_runtime.url)

        def lose_network() -> None:
            while len(aws.bodies) < 3:
                time.sleep(0.02)
            to_aws.cut()
            to_runtime.cut()
            while "cannot remove it yet" not in log.read_text():
                time.sleep(0.1)
            assert aws.resources()
            to_aws.restore()

        thread = threading.Thread(target=lose_network, daemon=True)
        thread.start()
        result = prumo_here("run", study, "--results", "results", "--yes")
        thread.join(5)

    (record,) = records(tmp_path / "results").values()
    assert record["verdict"] == "finished", result.stdout + result.stderr
    assert record["metrics"]["failed_requests"] == 3
    assert "no points of CloudWatch" in (tmp_path / "results/runs/C01-r1/worker.log").read_text()
    assert "cannot remove it yet" in result.stdout
    assert aws.resources() == []
    assert Ledger(tmp_path / "results" / LEDGER_FILE).remaining() == []


def test_credentials_that_have_expired_are_refused_before_anything_is_created(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        answer_calls(patch, lambda _: expired())
        result = prumo_here("run", write_study(tmp_path), "--results", "results", "--yes")

    assert result.returncode == 2
    assert "AWS: the AWS credentials do not work: The security token" in result.stderr
    assert aws.resources() == []
    assert not (tmp_path / "results" / LEDGER_FILE).exists()


def test_a_public_repository_is_removed_in_the_only_region_that_has_them(
    aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert aws.resources() == []
    repositories, regions = {"retina"}, set()

    # moto has no public registry.
    def answer(call: Call) -> Answer | None:
        asked = json.loads(call.body) if call.name.endswith("Repository") else {}
        if call.name == "DescribeRepositories":
            regions.add(call.region)
            asked = json.loads(call.body)
            if not repositories.issuperset(asked["repositoryNames"]) or not repositories:
                return refused("RepositoryNotFoundException", "no such repository")
            return Answer({"repositories": [{"repositoryName": "retina"}]})
        if call.name == "DeleteRepository":
            assert asked == {"repositoryName": "retina", "force": True}
            repositories.clear()
            return Answer({})
        return None

    answer_calls(monkeypatch, answer)
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.record(Resource(PUBLIC_REPOSITORY, "retina", "sa-east-1"), State.CREATED)

    assert Removal(ledger, lambda _: None).remove(5) == []
    assert repositories == set()
    assert regions == {"us-east-1"}
