"""Run folders are whole or absent, and locked while in use."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prumo.errors import BusyError, InputError, StorageError
from prumo.results.folder import ResultsFolder, UnreadableRecordError
from prumo.results.record import Verdict
from support.record_factory import run_record

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    made = ResultsFolder(tmp_path / "results")
    made.create()
    return made


def test_a_record_is_read_as_it_was_written(folder: ResultsFolder) -> None:
    written = run_record(metrics={"loss": 0.5}, factors={"a": "é", "b": True})
    folder.finish(written)
    assert folder.record("C01-r1") == written


def test_a_folder_without_a_record_is_a_run_that_did_not_end(folder: ResultsFolder) -> None:
    (folder.begin("C01-r1") / "worker.log").touch()
    assert folder.record("C01-r1") is None
    assert list(folder.begin("C01-r1").iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"run": 1}', b"\xff\xfe", b"null", b"3"])
def test_a_record_that_cannot_be_used_says_so(folder: ResultsFolder, content: bytes) -> None:
    (folder.begin("C01-r1") / "run.json").write_bytes(content)
    with pytest.raises(UnreadableRecordError, match=r"run\.json"):
        folder.record("C01-r1")


def test_a_record_of_a_newer_prumo_is_not_guessed_at(folder: ResultsFolder) -> None:
    folder.finish(run_record())
    path = folder.run_path("C01-r1") / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(InputError, match=r"newer prumo \(format 2\): upgrade"):
        folder.record("C01-r1")


def test_a_record_that_the_disk_does_not_give_is_not_called_broken(folder: ResultsFolder) -> None:
    (folder.begin("C01-r1") / "run.json").mkdir()
    with pytest.raises(StorageError, match="cannot read") as raised:
        folder.record("C01-r1")
    assert not isinstance(raised.value, UnreadableRecordError)


def test_a_record_under_another_name_is_not_that_runs(folder: ResultsFolder) -> None:
    folder.finish(run_record("C01-r1"))
    folder.run_path("C01-r1").rename(folder.run_path("C02-r1"))
    with pytest.raises(UnreadableRecordError, match="does not match its record"):
        folder.record("C02-r1")


def test_only_folders_named_as_runs_are_runs(folder: ResultsFolder) -> None:
    for name in ("C01-r1", "C120-r10"):
        folder.finish(run_record(name))
    for name in ("C01-r1.bak", "copy-of-C01-r1", "C\u0661-r1"):
        shutil.copytree(folder.run_path("C01-r1"), folder.run_path(name))
    folder.run_path("notes").mkdir()

    assert [path.name for path in folder.run_paths()] == ["C01-r1", "C120-r10"]
    assert [path.name for path in folder.stray_paths()] == [
        "C01-r1.bak",
        "C\u0661-r1",
        "copy-of-C01-r1",
    ]


def test_attempts_are_kept_side_by_side(folder: ResultsFolder) -> None:
    for _ in range(3):
        folder.finish(run_record(verdict=Verdict.CRASHED))
        folder.set_aside("C01-r1")
    assert {path.name for path in folder.attempts_path.iterdir()} == {
        "C01-r1.1",
        "C01-r1.2",
        "C01-r1.3",
    }
    assert folder.run_paths() == []


def test_a_locked_folder_is_refused_to_others(folder: ResultsFolder) -> None:
    with (
        folder.locked(),
        pytest.raises(BusyError, match="another prumo"),
        ResultsFolder(folder.path).locked(),
    ):
        pass
    with folder.locked():
        pass


def test_a_lock_ends_with_its_process(folder: ResultsFolder) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from prumo.results.folder import ResultsFolder\n"
        "lock = ResultsFolder(Path(sys.argv[1])).locked(); lock.__enter__(); os._exit(1)\n"
    )
    subprocess.run([sys.executable, "-c", code, folder.path], check=False)
    with folder.locked():
        pass


def test_a_folder_that_holds_no_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a results folder"):
        ResultsFolder.existing(tmp_path)


def test_what_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file"):
        ResultsFolder(tmp_path / "file").create()
