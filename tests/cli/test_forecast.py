"""`prumo plan --forecast`, as a user calls it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from prumo.cli.plan import command
from support.command_study import write_study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Prumo = Callable[..., subprocess.CompletedProcess[str]]


def test_a_study_is_forecast_before_it_runs(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(
        tmp_path,
        "true",
        machines={"box": {"price": "azure/Standard_F4s_v2@eastus"}},
        fixed={"machine": "box"},
    )

    done = prumo("plan", study, "--forecast", "--probe", 2)

    assert done.returncode == 0, done.stderr
    assert "4 runs will take" in done.stdout
    assert "They will cost" in done.stdout
    assert "It rests on 3 short runs made for it" in done.stdout
    assert "Kept in results/quick/forecast.json" in done.stdout
    assert "probing C" in done.stderr
    assert not (tmp_path / "results" / "quick" / "runs").exists()


def test_after_the_run_the_same_command_compares(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, "true")

    first = json.loads(prumo("plan", study, "--forecast", "--json").stdout)
    prumo("run", study)
    results = str(tmp_path / "results" / "quick")
    asked = [str(study), "--forecast", "--results", results]
    again = CliRunner().invoke(command, [*asked, "--json"])
    shown = CliRunner().invoke(command, asked).stdout

    assert (first["new"], first["against_fact"]) == (True, [])
    compared = json.loads(again.stdout)
    assert compared["new"] is False
    assert compared["made"] == first["made"]
    assert [row["scenario"] for row in compared["against_fact"]][-1] == "total"
    assert again.stderr == ""
    assert "remove it to make another" in shown


def test_a_study_that_was_run_is_forecast_without_a_probe(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, "true")
    prumo("run", study)

    told = json.loads(prumo("plan", study, "--forecast", "--json").stdout)

    assert (told["grounds"]["probe_runs"], told["grounds"]["earlier_runs"]) == (0, 4)
    assert {row["basis"] for row in told["scenarios"]} == {"measured"}


def test_a_scenario_that_was_never_measured_is_probed(prumo: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, "true")
    prumo("run", study, "--scenario", "C1")

    told = json.loads(prumo("plan", study, "--forecast", "--json").stdout)

    assert told["grounds"]["probe_runs"] > 0


def test_without_a_probe_and_earlier_results_nothing_is_claimed(tmp_path: Path) -> None:
    study, results = write_study(tmp_path, "true", replications=7), tmp_path / "results"

    done = CliRunner().invoke(
        command, [str(study), "--forecast", "--no-probe", "--results", str(results)]
    )

    assert done.exit_code == 0
    assert "Nothing can be said about the time of quick." in done.stdout
    assert "nothing of its kind was measured" in done.stdout
    # The number of runs is known all the same.
    assert re.search(r"C4 .* 7 .* nothing", done.stdout)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--probe", "2"), "go with --forecast"),
        (("--from", "results/x"), "go with --forecast"),
        (("--forecast", "--csv"), "choose one of"),
        (("--forecast", "--probe", "2", "--no-probe"), "choose --probe or --no-probe"),
        (("--forecast", "--probe", "0"), "0 is not in the range"),
        (("--forecast", "--no-probe", "--from", "nowhere"), "not a results folder"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: tuple[str, ...], hint: str) -> None:
    done = CliRunner().invoke(command, [str(write_study(tmp_path, "true")), *options])

    assert done.exit_code != 0
    assert hint in f"{done.output} {done.exception}"


def test_ctrl_c_ends_a_probe_and_leaves_nothing_behind(tmp_path: Path) -> None:
    started = tmp_path / "started"
    study = write_study(tmp_path, f"touch {started}; sleep 60")
    room = tmp_path / "room"
    room.mkdir()
    words = [sys.executable, "-m", "prumo", "plan", str(study), "--forecast"]
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(room)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not started.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "interrupted" in errors
    assert list(room.iterdir()) == []
    assert not (tmp_path / "results").exists()


@pytest.mark.torch
@pytest.mark.usefixtures("pytorch_python")
def test_a_training_is_forecast_from_a_few_steps(prumo: Prumo, tmp_path: Path) -> None:
    study = tmp_path / "tiny.yaml"
    study.write_text(
        "name: tiny\n"
        "workload: {kind: training}\n"
        "factors: {batch_size: [8, 16]}\n"
        "fixed: {network: lenet5, dataset: mnist, images: 512, epochs: 2}\n"
        "replications: 3\n"
    )

    done = prumo("plan", study, "--forecast", "--probe", 1, "--json")

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["grounds"]["probe_runs"] == 2
    assert sorted(row["basis"] for row in told["scenarios"]) == ["measured", "scaled"]
    assert told["seconds"]["low"] < told["seconds"]["value"] < told["seconds"]["high"]
