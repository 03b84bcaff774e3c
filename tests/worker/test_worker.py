"""The worker process where no framework is needed to see what it does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from support.worker_process import LENET, run_worker, task

if TYPE_CHECKING:
    from pathlib import Path


def test_a_framework_that_is_not_installed_is_unavailable(tmp_path: Path) -> None:
    run = run_worker(sys.executable, task(tmp_path, LENET))
    assert run.exit_code == 1
    assert [event["event"] for event in run.events] == ["started", "failed"]
    assert run.only("failed")["kind"] == "unavailable"
    assert "No module named 'torch'" in run.only("failed")["message"]
    assert "Traceback" in run.log


def test_a_framework_that_nobody_knows_is_unavailable(tmp_path: Path) -> None:
    run = run_worker(sys.executable, task(tmp_path, {**LENET, "framework": "theano"}))
    assert run.only("failed")["kind"] == "unavailable"
    assert (
        run.only("failed")["message"]
        == "no framework is named 'theano'; known: caffe, jax, mxnet, pytorch, tensorflow"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"network": "rede9"}, "no network is named 'rede9'"),
        ({"image_size": 4}, "lenet5 on 1x4x4: layer conv2"),
        ({"batch_size": "many"}, "batch_size: must be a whole number"),
        ({"dataset": "mnsit"}, "no data set is named 'mnsit'"),
    ],
)
def test_a_task_that_cannot_be_done_is_invalid(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    run = run_worker(sys.executable, task(tmp_path, {**LENET, **change}))
    assert run.exit_code == 1
    assert run.only("failed")["kind"] == "invalid"
    assert message in run.only("failed")["message"]


def test_data_that_cannot_be_read_are_invalid(tmp_path: Path) -> None:
    run = run_worker(sys.executable, task(tmp_path, LENET, data={"mnist": str(tmp_path)}))
    assert run.only("failed")["kind"] == "invalid"
    assert "is not a prepared data set" in run.only("failed")["message"]


def test_another_kind_of_workload_is_invalid(tmp_path: Path) -> None:
    run = run_worker(sys.executable, task(tmp_path, LENET, kind="command"))
    assert run.only("failed")["kind"] == "invalid"


def test_a_task_without_a_journal_is_told_on_standard_error(tmp_path: Path) -> None:
    run = run_worker(sys.executable, task(tmp_path, LENET, journal=None))
    assert (run.exit_code, run.events) == (1, [])
    assert "task.json: journal: is missing" in run.log


def test_an_absent_task_is_told_on_standard_error(tmp_path: Path) -> None:
    run = run_worker(sys.executable, tmp_path / "absent.json")
    assert run.exit_code == 1
    assert "absent.json: cannot be read" in run.log
