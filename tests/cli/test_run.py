"""`prumo run` as a user meets it: verdicts, resume, limits, bad input, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from support.command_study import records, verdicts, write_study

if TYPE_CHECKING:
    from pathlib import Path

Prumo = Callable[..., subprocess.CompletedProcess[str]]


def test_a_study_runs_to_its_end_and_says_where_to_go(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, "echo '{{\"loss\": 0.{a}}}'", replications=2)
    done = prumo("run", study)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1 + 8 + 2
    assert "prumo report results/quick" in done.stdout
    runs = records(tmp_path / "results/quick")
    assert len(runs) == 8
    assert runs["C03-r2"]["metrics"]["loss"] == 0.2
    assert runs["C03-r2"]["factors"] == {"a": 2, "b": "x"}
    assert {path.name for path in (tmp_path / "results/quick/runs/C01-r1").iterdir()} == {
        "run.json",
        "samples.csv",
        "worker.log",
    }


def test_finished_runs_are_never_run_again(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, f"echo {{run}} >> {tmp_path}/ran")
    assert prumo("run", study, "--scenario", "C2").returncode == 0
    assert prumo("run", study).returncode == 0
    assert prumo("run", study).returncode == 0
    assert (tmp_path / "ran").read_text().split() == ["C02-r1", "C01-r1", "C03-r1", "C04-r1"]


def test_levels_reach_the_command_as_words_and_as_variables(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(
        tmp_path,
        'echo "{{\\"word\\": {a}, \\"own\\": $OWN, \\"given\\": $PRUMO_A}}"',
        workload={"environment": {"OWN": "1{a}"}},
        factors={"a": [7]},
    )
    prumo("run", study)
    metrics = records(tmp_path / "results/quick")["C01-r1"]["metrics"]
    assert (metrics["word"], metrics["own"], metrics["given"]) == (7, 17, 7)


def test_a_script_speaks_through_the_probe(prumo: Prumo, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "from prumo_worker import probe\n"
        "for epoch in range(2):\n"
        "    probe.step(loss=1.0, images=8)\n"
        "    probe.epoch(loss=1.0 / (epoch + 1), images=8, seconds=2.0)\n"
        "probe.metric(top5=0.75)\n"
    )
    study = write_study(tmp_path, [sys.executable, "train.py"], factors={"a": [1]})
    assert prumo("run", study).returncode == 0
    metrics = records(tmp_path / "results/quick")["C01-r1"]["metrics"]
    assert metrics["train_seconds"] == 4.0
    assert metrics["images_per_second"] == 4.0
    assert (metrics["loss"], metrics["top5"]) == (0.5, 0.75)


@pytest.mark.parametrize(
    ("command", "settings", "verdict", "reason"),
    [
        ("exit 3", {}, "crashed", "exit code 3"),
        ("echo oh no >&2; exit 1", {}, "crashed", "oh no"),
        ("kill -SEGV $$", {}, "crashed", "SIGSEGV"),
        ("sleep 60", {"timeout_seconds": 0.3}, "timeout", "0.3 s"),
        ("trap '' TERM; while :; do sleep 0.1; done", {"timeout_seconds": 0.3}, "timeout", "0.3"),
        ("echo '{{\"loss\": NaN}}'", {}, "invalid", "not finite"),
        ("echo '{{\"loss\": -1}}'", {}, "invalid", "negative"),
        ("echo MemoryError; exit 1", {}, "out_of_memory", "MemoryError"),
    ],
)
def test_a_bad_end_has_its_verdict_and_the_rest_goes_on(
    prumo: Prumo,
    tmp_path: Path,
    command: str,
    settings: dict[str, float],
    verdict: str,
    reason: str,
) -> None:
    bad_first = f"if [ {{a}} = 1 ]; then {command}; fi"
    study = write_study(tmp_path, bad_first, factors={"a": [1, 2]}, measure=settings)
    done = prumo("run", study)
    assert done.returncode == 1
    assert "--retry-failed" in done.stdout
    runs = records(tmp_path / "results/quick")
    assert (runs["C01-r1"]["verdict"], runs["C02-r1"]["verdict"]) == (verdict, "finished")
    assert reason in runs["C01-r1"]["reason"]


def test_a_memory_cap_is_kept_and_larger_batches_are_not_tried(
    prumo: Prumo, tmp_path: Path
) -> None:
    hungry = "import os, time; held = bytearray({batch_size} << 20); time.sleep(1)"
    study = write_study(
        tmp_path,
        [sys.executable, "-c", hungry],
        factors={"batch_size": [1, 600, 700]},
        measure={"memory_bytes": "300MiB"},
    )
    assert prumo("run", study).returncode == 1
    assert verdicts(tmp_path / "results/quick") == {
        "C01-r1": "finished",
        "C02-r1": "out_of_memory",
        "C03-r1": "not_tried",
    }


def test_failed_runs_are_tried_again_when_asked_and_the_old_ones_are_kept(
    prumo: Prumo, tmp_path: Path
) -> None:
    study = write_study(tmp_path, f"test -e {tmp_path}/good", factors={"a": [1]})
    assert prumo("run", study).returncode == 1
    (tmp_path / "good").touch()
    assert prumo("run", study).returncode == 1
    assert prumo("run", study, "--retry-failed").returncode == 0
    assert verdicts(tmp_path / "results/quick") == {"C01-r1": "finished"}
    attempt = tmp_path / "results/quick/attempts/C01-r1.1/run.json"
    assert json.loads(attempt.read_text())["verdict"] == "crashed"


def test_a_worker_that_forks_and_dies_is_noted(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, "setsid sleep 600 &", factors={"a": [1]})
    assert prumo("run", study).returncode == 0
    assert "behind" in records(tmp_path / "results/quick")["C01-r1"]["notes"][0]


def test_only_and_scenario_and_replications_choose(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, "true", replications=3)
    listed = prumo("run", study, "--dry-run", "--only", "a == 2 and b == y", "--replications", 1)
    assert listed.stdout == "C04-r1\ta=2 b=y\n"
    assert not (tmp_path / "results").exists()
    listed = prumo("run", study, "--dry-run", "--scenario", "C1", "--scenario", "C2")
    assert len(listed.stdout.splitlines()) == 6


def test_what_would_be_started_comes_as_json_for_programs(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, "true", factors={"a": [1, 2]})
    listed = prumo("run", study, "--dry-run", "--json")
    assert [json.loads(line) for line in listed.stdout.splitlines()] == [
        {"event": "planned", "run": "C01-r1", "factors": {"a": 1}},
        {"event": "planned", "run": "C02-r1", "factors": {"a": 2}},
    ]


def test_events_come_as_json_for_programs(prumo: Prumo, tmp_path: Path) -> None:
    done = prumo("run", write_study(tmp_path, "true", factors={"a": [1]}), "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events if event["event"] != "run_advanced"] == [
        "study_started",
        "run_started",
        "run_ended",
        "study_ended",
    ]
    assert events[-1]["verdicts"] == {"finished": 1}


def test_an_adaptive_study_stops_when_it_is_sure(prumo: Prumo, tmp_path: Path) -> None:
    noisy = "echo '{{\"s\": '$(( {a} * 1$(date +%N | cut -c1-2) ))'}}'"
    study = write_study(
        tmp_path,
        f"if [ {{a}} = 0 ]; then echo '{{{{\"s\": 5}}}}'; else {noisy}; fi",
        factors={"a": [0, 1]},
        replications={"metric": "s", "half_width_percent": 1, "minimum": 2, "maximum": 4},
    )
    assert prumo("run", study).returncode == 0
    names = list(records(tmp_path / "results/quick"))
    assert [name for name in names if name.startswith("C01")] == ["C01-r1", "C01-r2"]
    assert len([name for name in names if name.startswith("C02")]) > 2


def test_an_adaptive_study_whose_metric_never_comes_says_so(prumo: Prumo, tmp_path: Path) -> None:
    goal = {"metric": "los", "half_width_percent": 1, "minimum": 2, "maximum": 4}
    study = write_study(tmp_path, "echo '{{\"loss\": 1}}'", factors={"a": [0]}, replications=goal)
    told = prumo("run", study).stdout
    assert "no run reports 'los'" in told
    assert "did you mean 'loss'?" in told


def test_a_worker_that_says_nonsense_is_recorded_all_the_same(prumo: Prumo, tmp_path: Path) -> None:
    nonsense = """echo '{{"event": "ready", "data": "words", "versions": {{"cuda": 12.1}}}}' \
        >> $PRUMO_JOURNAL; echo '{{"x": 1e999, "y": 2}}'"""
    assert prumo("run", write_study(tmp_path, nonsense, factors={"a": [0]})).returncode == 0
    record = records(tmp_path / "results/quick")["C01-r1"]
    assert record["versions"] == {"cuda": "12.1"}
    assert record["metrics"]["y"] == 2


def test_the_conditions_of_a_run_are_in_its_record(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, "sleep 0.1", factors={"a": [0]}, measure={"threads": 1})
    prumo("run", study)
    record = records(tmp_path / "results/quick")["C01-r1"]
    assert record["threads"] == 1
    assert record["settings"]["sample_seconds"] == 0.1
    assert record["metrics"]["max_rss_bytes"] > 0
    study = write_study(tmp_path, "sleep 0.1", factors={"a": [0]}, measure={"threads": 2})
    done = prumo("run", study)
    assert done.returncode == 2
    assert "other conditions" in done.stderr


def test_a_framework_that_is_not_there_is_unavailable_and_no_failure(
    prumo: Prumo, tmp_path: Path
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "name: gpu\nworkload: {kind: training}\nfactors: {network: [lenet5]}\n"
        "fixed: {framework: caffe@0.9.0}\n"
    )
    done = prumo("run", study)
    assert done.returncode == 0
    record = records(tmp_path / "results/gpu")["C01-r1"]
    assert record["verdict"] == "unavailable"
    assert "caffe 0.9.0 cannot be set up" in record["reason"]
    assert not (tmp_path / "results/gpu/runs/C01-r1/worker.log").exists()


class TestBadInput:
    def test_cpus_that_are_not_there_are_refused_before_anything_runs(
        self, prumo: Prumo, tmp_path: Path
    ) -> None:
        done = prumo("run", write_study(tmp_path, "true", measure={"affinity": [4000]}))
        assert done.returncode == 2
        assert "CPU 4000" in done.stderr
        assert verdicts(tmp_path / "results/quick") == {}

    def test_an_unknown_scenario_is_refused(self, prumo: Prumo, tmp_path: Path) -> None:
        done = prumo("run", write_study(tmp_path, "true"), "--scenario", "C9")
        assert done.returncode == 2
        assert "no scenario C9" in done.stderr

    def test_a_rule_that_is_wrong_is_refused(self, prumo: Prumo, tmp_path: Path) -> None:
        done = prumo("run", write_study(tmp_path, "true"), "--only", "c == 1")
        assert done.returncode == 2
        assert "'c'" in done.stderr
        assert "Traceback" not in done.stderr

    def test_a_study_that_changed_is_refused_and_nothing_is_lost(
        self, prumo: Prumo, tmp_path: Path
    ) -> None:
        prumo("run", write_study(tmp_path, "true"))
        before = records(tmp_path / "results/quick")
        study = write_study(tmp_path, "true", factors={"a": [1, 5], "b": ["x", "y"]})
        done = prumo("run", study)
        assert done.returncode == 2
        assert "a=2 and is now a=5" in done.stderr
        assert records(tmp_path / "results/quick") == before

    def test_a_results_path_that_is_a_file_is_refused(self, prumo: Prumo, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        done = prumo("run", write_study(tmp_path, "true"), "--results", tmp_path / "file")
        assert done.returncode == 2
        assert "cannot write" in done.stderr

    def test_corrupt_records_are_set_aside_and_run_again(
        self, prumo: Prumo, tmp_path: Path
    ) -> None:
        study = write_study(tmp_path, "true")
        prumo("run", study)
        runs = tmp_path / "results/quick/runs"
        (runs / "C01-r1/run.json").write_text('{"format": 1, "run"')
        (runs / "C02-r1/run.json").write_bytes(b"\xff\x00")
        (runs / "C03-r1/run.json").write_text("[]")
        done = prumo("run", study)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("unreadable") == 3
        assert set(verdicts(tmp_path / "results/quick").values()) == {"finished"}
        kept = tmp_path / "results/quick/attempts/C01-r1.1/run.json"
        assert kept.read_text() == '{"format": 1, "run"'


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.root
def test_a_full_disk_is_told_and_the_study_goes_on_when_there_is_room(
    prumo: Prumo, tmp_path: Path, small_disk: Path
) -> None:
    study = write_study(tmp_path, "test {a} = 1 || head -c 1000000 /dev/zero")
    results = small_disk / "results"
    done = prumo("run", study, "--results", results)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert verdicts(results) == {"C01-r1": "finished", "C02-r1": "finished"}
    subprocess.run(["mount", "-o", "remount,size=16m", small_disk], check=True)
    assert prumo("run", study, "--results", results).returncode == 0
    assert len(verdicts(results)) == 4


@pytest.mark.root
def test_a_read_only_folder_is_told(prumo: Prumo, tmp_path: Path, small_disk: Path) -> None:
    study = write_study(tmp_path, "true")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = prumo("run", study, "--results", small_disk / "results")
    assert done.returncode == 2
    assert "Read-only file system" in done.stderr


def start(study: Path, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "prumo", "run", str(study)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(happened: Callable[[], bool]) -> None:
    for _ in range(1000):
        if happened():
            return
        time.sleep(0.02)
    raise AssertionError("it never happened")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_finished_and_says_how_to_go_on(
    prumo: Prumo, tmp_path: Path, number: signal.Signals
) -> None:
    study = write_study(tmp_path, f"test {{a}} = 1 || test -e {tmp_path}/fast || sleep 60")
    process = start(study, tmp_path)
    wait_until((tmp_path / "results/quick/runs/C03-r1/worker.log").exists)
    os.killpg(process.pid, number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert f"prumo run {study}" in output
    assert verdicts(tmp_path / "results/quick") == {
        "C01-r1": "finished",
        "C02-r1": "finished",
        "C03-r1": "interrupted",
    }
    (tmp_path / "fast").touch()
    assert prumo("run", study).returncode == 0
    assert set(verdicts(tmp_path / "results/quick").values()) == {"finished"}


def test_two_prumos_on_one_folder_exclude_each_other(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, "sleep 60", factors={"a": [1]})
    first = start(study, tmp_path)
    wait_until((tmp_path / "results/quick/runs/C01-r1/worker.log").exists)
    second = prumo("run", study)
    assert second.returncode == 2
    assert f"in use by another prumo (process {first.pid})" in second.stderr
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)
    assert first.returncode == 130
