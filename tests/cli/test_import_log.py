from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from support.training_logs import CAFFE_LOG, TENSORFLOW_LOG

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo

POSITIVE = CAFFE_LOG.replace("-0.125", "0.125")


def on_device(mode: str) -> str:
    return POSITIVE.replace("Use CPU.", {"CPU": "Use CPU.", "GPU": "Using GPUs 0"}[mode])


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for mode in ("CPU", "GPU"):
        (folder / f"train_alexnet_{mode}_064.log").write_text(on_device(mode))
        head = f"{mode} mode\n"
        (folder / f"train_alexnet_{mode}_128.log").write_text(head + TENSORFLOW_LOG)
    return folder


def record(folder: Path, run: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "runs" / run / "run.json").read_text())
    return content


def test_logs_of_two_libraries_become_runs_that_can_be_reported(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    into = ("--into", tmp_path / "old")
    for kind, batch in (("caffe-log", "064"), ("tensorflow-log", "128")):
        done = prumo_here("import", kind, *sorted(logs.glob(f"*_{batch}.log")), *into)
        assert done.returncode == 0, done.stderr
    report = prumo_here("report", tmp_path / "old", "--json")
    assert report.returncode == 0, report.stderr
    told = json.loads(report.stdout)
    assert told["factors"] == ["framework", "machine", "network", "batch_size"]
    assert told["runs"]["finished"] == 4
    means = {
        (row["scenario"], row["metric"]): row["mean"]
        for row in told["summary"]
        if row["metric"] in {"train_seconds", "images_per_second", "loss"}
    }
    assert means["C1", "train_seconds"] == pytest.approx(0.191 + 0.5 + 0.25)
    assert means["C1", "images_per_second"] == pytest.approx(3 * 64 / 0.941)
    assert means["C3", "train_seconds"] == pytest.approx(4.75)
    assert "caffe-log train_alexnet_CPU_064.log" in (tmp_path / "old/report.html").read_text()


def test_an_imported_run_says_so_and_nothing_of_a_machine(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    prumo_here(
        "import", "caffe-log", logs / "train_alexnet_CPU_064.log", "--into", tmp_path / "old"
    )
    run = record(tmp_path / "old", "C01-r1")
    assert run["imported"] == "caffe-log train_alexnet_CPU_064.log"
    assert (run["machine"], run["versions"], run["started"], run["sampler"]) == ({}, {}, "", None)
    assert "iteration 0 is not in the times" in run["notes"][0]
    assert (tmp_path / "old/runs/C01-r1/worker.log").read_text() == POSITIVE


def test_iteration_0_keeps_its_loss_and_has_no_time(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    prumo_here(
        "import", "caffe-log", logs / "train_alexnet_CPU_064.log", "--into", tmp_path / "old"
    )
    journal = (tmp_path / "old/runs/C01-r1/events.jsonl").read_text().splitlines()
    first = next(event for event in map(json.loads, journal) if event["event"] == "step")
    assert (first["epoch"], first["loss"]) == (0, 7.01242)
    assert "seconds" not in first


def test_another_log_of_the_same_levels_is_another_replication(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    log = logs / "train_alexnet_GPU_064.log"
    for text in (on_device("GPU"), on_device("GPU").replace("0.5s", "0.6s")):
        log.write_text(text)
        prumo_here("import", "caffe-log", log, "--into", tmp_path / "old")
    seconds = [
        record(tmp_path / "old", run)["metrics"]["train_seconds"] for run in ("C01-r1", "C01-r2")
    ]
    assert seconds == pytest.approx([0.941, 1.041])


def test_the_same_log_again_is_refused_with_the_run_that_it_is(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    log, into = logs / "train_alexnet_GPU_064.log", ("--into", tmp_path / "old")
    twice = prumo_here("import", "caffe-log", log, log, *into)
    assert (twice.returncode, list((tmp_path / "old/runs").iterdir())) == (2, [])
    prumo_here("import", "caffe-log", log, *into)
    again = prumo_here("import", "caffe-log", log, *into)
    assert again.returncode == 2
    assert "this log is there already, as C01-r1" in again.stderr
    assert [path.name for path in (tmp_path / "old/runs").iterdir()] == ["C01-r1"]


def test_nothing_is_shown_or_missed_that_nobody_could_measure(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    prumo_here("import", "caffe-log", *logs.glob("*_064.log"), "--into", tmp_path / "old")
    assert record(tmp_path / "old", "C01-r1")["wall_seconds"] is None
    told = json.loads(prumo_here("report", tmp_path / "old", "--json").stdout)
    assert "wall_seconds" not in {row["metric"] for row in told["summary"]}
    assert {warning["name"] for warning in told["warnings"]} == {"few_runs"}


EVERY_20TH = "".join(
    f"I1222 10:11:13.1 7 solver.cpp:239] Iteration {number} (10 iter/s, {seconds}s/20 iters), "
    f"loss = {loss}\n"
    for number, seconds, loss in ((0, 0.1, 7), (20, 2, 4), (40, 4, 3), (60, 6, 2))
)


def test_a_log_of_every_20th_step_counts_all_of_them(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    log = logs / "train_alexnet_CPU_010.log"
    log.write_text(EVERY_20TH)
    prumo_here("import", "caffe-log", log, "--into", tmp_path / "old")
    metrics = record(tmp_path / "old", "C01-r1")["metrics"]
    assert metrics == pytest.approx(
        {
            "train_seconds": 12.0,
            "seconds_per_epoch": 12.0,
            "images": 600,
            "images_per_second": 50.0,
            "loss": 3.0,
            "step_seconds_median": 0.2,
        }
    )


def test_epochs_are_cut_by_the_number_of_the_step_also_within_a_line(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    log = logs / "train_alexnet_CPU_010.log"
    log.write_text(EVERY_20TH)
    prumo_here("import", "caffe-log", log, "--into", tmp_path / "old", "--images", 300)
    journal = (tmp_path / "old/runs/C01-r1/events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in journal]
    epochs = [event for event in events if event["event"] == "epoch"]
    assert [(epoch["images"], epoch["seconds"]) for epoch in epochs] == [(300, 4.0), (300, 8.0)]
    steps = [(event["epoch"], event["step"]) for event in events if event["event"] == "step"]
    assert steps == [(0, 1), (1, 20), (2, 10), (2, 30)]


def test_the_images_of_an_epoch_divide_the_steps(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    log = logs / "train_alexnet_CPU_128.log"
    prumo_here("import", "tensorflow-log", log, "--into", tmp_path / "old", "--images", 256)
    journal = (tmp_path / "old/runs/C01-r1/events.jsonl").read_text().splitlines()
    epochs = [event for event in map(json.loads, journal) if event["event"] == "epoch"]
    assert [(epoch["epoch"], epoch["images"]) for epoch in epochs] == [(1, 256), (2, 128)]


def test_a_negative_loss_makes_the_run_invalid_by_name(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    (logs / "train_googlenet_CPU_001.log").write_text(CAFFE_LOG)
    log = logs / "train_googlenet_CPU_001.log"
    done = prumo_here("import", "caffe-log", log, "--into", tmp_path / "old")
    run = record(tmp_path / "old", "C01-r1")
    assert (run["verdict"], run["anomalies"]) == ("invalid", ["negative_loss"])
    assert "negative_loss" in done.stdout


def test_the_report_says_that_runs_were_imported_and_not_how_to_repeat_them(
    prumo_here: Prumo, tmp_path: Path, logs: Path
) -> None:
    prumo_here("import", "caffe-log", *logs.glob("*_064.log"), "--into", tmp_path / "old")
    shown = prumo_here("report", tmp_path / "old").stdout
    assert "Not measured by Prumo but imported: 2 runs." in shown
    page = (tmp_path / "old/report.html").read_text()
    assert "imported: 2 runs" in page
    assert "How to repeat this" not in page
    assert "study.yaml" not in page


def test_the_help_writes_libraries_as_they_do(prumo_here: Prumo) -> None:
    assert (
        "logs of TensorFlow-Slim trainings"
        in prumo_here("import", "tensorflow-log", "--help").stdout
    )


def test_one_wrong_log_leaves_nothing_behind(prumo_here: Prumo, tmp_path: Path, logs: Path) -> None:
    files = (logs / "train_alexnet_CPU_064.log", logs / "train_alexnet_CPU_128.log")
    done = prumo_here("import", "caffe-log", *files, "--into", tmp_path / "old")
    assert done.returncode == 2
    assert "no step with its loss and time is in it" in done.stderr
    assert not (tmp_path / "old").exists()
