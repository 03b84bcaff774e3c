"""`prumo retina prepare` as a user calls it, also when it is stopped in the middle."""

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

from prumo_retina.dataset.manifest import read_manifest
from support.fundus_factory import fundus, write_photograph, write_photographs

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Prumo

COPIES = 16


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    write_photographs(tmp_path / "in", 1)
    return tmp_path / "in"


def test_a_summary_tells_counts_problems_and_where_the_manifest_is(
    prumo_here: Prumo, photographs: Path
) -> None:
    (photographs / "text.jpg").write_text("no photograph")
    (photographs / "copy.jpg").write_bytes((photographs / "eye-3-1.jpg").read_bytes())
    (photographs / "readme.txt").touch()
    done = prumo_here("retina", "prepare", "in", "out", "--size", 64)

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("7 photographs, in ")
    assert "  good              6   85.7 %" in lines
    assert "  unreadable        1   14.3 %" in lines
    assert "grades from in/labels.csv" in lines
    assert "  4 proliferative retinopathy                   1" in lines
    assert "  no grade                                      2" in lines
    assert "not readable: 1" in lines
    assert any(line.startswith("  text.jpg: is not a photograph") for line in lines)
    assert "  eye-3-1 is copy again (same file, correlation 1.00)" in lines
    assert "files not looked at: 1" in lines
    assert lines[-1] == "manifest: out/manifest.csv"
    again = prumo_here("retina", "prepare", "in", "out", "--size", 64)
    assert again.stdout.startswith("7 photographs, 6 of them before, in ")


def test_json_has_all_of_it(prumo_here: Prumo, photographs: Path) -> None:
    (photographs / "labels.csv").write_text("id,stage\neye-0-1,0\neye-1-1,9\n", "utf-8")
    options = ("--grade-column", "stage", "--labels", "labels.csv", "--anonymous-names")
    done = prumo_here("retina", "prepare", "in", "out", "--json", "--jobs", 1, *options)
    told = json.loads(done.stdout)

    assert done.returncode == 0
    assert (told["photographs"], told["prepared"], told["already_there"]) == (5, 5, 0)
    assert told["verdicts"] == {"good": 5}
    assert told["grades"] == {"0": 1, "none": 4}
    (mistake,) = told["problems"]["labels with a mistake"]
    assert re.fullmatch(r"fundus-0000[1-5]: grade '9' is none of 0, 1, 2, 3, 4", mistake)
    assert told["manifest"] == "out/manifest.csv"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gone", "out"), "gone does not exist"),
        (("in", "out", "--labels", "gone.csv"), "there is no labels file gone.csv"),
        (("in", "out", "--grade-column", "levels", "--labels", "labels.csv"), "no column 'levels'"),
        (("in", "out", "--size", "8"), "8 is not in the range 16<=x<=4096"),
        (("in", "out", "--enhance", "more"), "'more' is not one of 'none', 'graham', 'clahe'"),
        (("in", "in"), "IN and OUT are the same folder, in"),
    ],
)
def test_a_mistake_is_told_and_exits_with_2(
    prumo_here: Prumo, photographs: Path, arguments: tuple[str, ...], said: str
) -> None:
    assert photographs.is_dir()
    done = prumo_here("retina", "prepare", *arguments)

    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_help_shows_an_example(prumo_here: Prumo) -> None:
    done = prumo_here("retina", "prepare", "--help")

    assert "prumo retina prepare photographs prepared --labels labels.csv" in done.stdout


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_loses_nothing(
    prumo_here: Prumo, tmp_path: Path, way: signal.Signals
) -> None:
    _write_many(tmp_path / "in")
    process = _started(tmp_path)
    journal = tmp_path / "out/.journal.jsonl"
    while not journal.exists() or journal.read_bytes().count(b"\n") < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    process.send_signal(way)
    _, errors = process.communicate()
    assert not (tmp_path / "out/manifest.csv").exists()
    if way is signal.SIGINT:
        assert process.returncode == 130
        assert "photographs are done and kept" in errors
    kept = journal.read_bytes().count(b"\n")
    resumed = json.loads(prumo_here("retina", "prepare", "in", "out", "--json").stdout)
    whole = json.loads(prumo_here("retina", "prepare", "in", "whole", "--json").stdout)

    assert 3 <= kept < COPIES * 3
    assert resumed["already_there"] == kept
    assert whole["already_there"] == 0
    assert read_manifest(tmp_path / "out") == read_manifest(tmp_path / "whole")
    assert _images(tmp_path / "out") == _images(tmp_path / "whole")


def _write_many(folder: Path) -> None:
    """Three photographs under many names: work for a while."""
    for seed in range(3):
        first = write_photograph(folder / f"{seed}-0.jpg", fundus(800, 600, seed=seed))
        for number in range(1, COPIES):
            os.link(first, folder / f"{seed}-{number}.jpg")


def _started(folder: Path) -> subprocess.Popen[str]:
    command = (sys.executable, "-m", "prumo", "retina", "prepare", "in", "out", "--jobs", "1")
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _images(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "images").iterdir()}
