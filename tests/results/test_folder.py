"""Run folders are whole or absent, locked while in use, and merged by what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from prumo.errors import BusyError, InputError, StorageError
from prumo.results.folder import ResultsFolder, UnreadableRecordError
from prumo.results.merge import merge
from prumo.results.record import RunRecord, Verdict

if TYPE_CHECKING:
    from pathlib import Path

Prumo = Callable[..., subprocess.CompletedProcess[str]]


def record(run: str = "C01-r1", verdict: Verdict = Verdict.FINISHED, **fields: Any) -> RunRecord:
    values: dict[str, Any] = {
        "run": run,
        "scenario": "C1",
        "replication": 1,
        "study": "quick",
        "factors": {"a": 1},
        "parameters": {"a": 1},
        "fingerprint": "f",
        "verdict": verdict,
    }
    return RunRecord(**(values | fields))


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    made = ResultsFolder(tmp_path / "results")
    made.create()
    return made


def test_a_record_is_read_as_it_was_written(folder: ResultsFolder) -> None:
    written = record(metrics={"loss": 0.5}, factors={"a": "é", "b": True})
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
    folder.finish(record())
    path = folder.run_path("C01-r1") / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(UnreadableRecordError, match="newer"):
        folder.record("C01-r1")


def test_attempts_are_kept_side_by_side(folder: ResultsFolder) -> None:
    for _ in range(3):
        folder.finish(record(verdict=Verdict.CRASHED))
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


class TestMerge:
    @pytest.fixture
    def other(self, tmp_path: Path) -> ResultsFolder:
        made = ResultsFolder(tmp_path / "other")
        made.create()
        return made

    def test_missing_runs_are_taken_with_all_their_files(
        self, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        (other.begin("C01-r1") / "samples.csv").write_text("time\n")
        other.finish(record())
        assert merge(other, folder).taken == ["C01-r1"]
        assert (folder.run_path("C01-r1") / "samples.csv").read_text() == "time\n"
        assert folder.record("C01-r1") == record()

    @pytest.mark.parametrize(
        ("ours", "theirs", "taken"),
        [
            (Verdict.UNAVAILABLE, Verdict.FINISHED, True),
            (Verdict.INTERRUPTED, Verdict.CRASHED, True),
            (Verdict.CRASHED, Verdict.FINISHED, True),
            (Verdict.FINISHED, Verdict.FINISHED, False),
            (Verdict.FINISHED, Verdict.CRASHED, False),
            (Verdict.CRASHED, Verdict.UNAVAILABLE, False),
        ],
    )
    def test_the_run_that_says_more_stays(
        self,
        folder: ResultsFolder,
        other: ResultsFolder,
        ours: Verdict,
        theirs: Verdict,
        taken: bool,
    ) -> None:
        folder.finish(record(verdict=ours, order=1))
        other.finish(record(verdict=theirs, order=2))
        merge(other, folder)
        assert folder.record("C01-r1") == other.record("C01-r1") or not taken
        kept = folder.record("C01-r1")
        assert kept is not None
        assert kept.order == (2 if taken else 1)

    def test_runs_of_another_study_are_refused_and_nothing_is_merged(
        self, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        folder.finish(record("C02-r1"))
        other.finish(record("C01-r1"))
        other.finish(record("C02-r1", fingerprint="another"))
        with pytest.raises(InputError, match="C02-r1"):
            merge(other, folder)
        assert folder.record("C01-r1") is None

    def test_runs_without_a_readable_record_are_named(
        self, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        other.begin("C01-r1")
        (other.begin("C02-r1") / "run.json").write_text("{")
        assert merge(other, folder).unreadable == ["C01-r1", "C02-r1"]

    def test_the_command_line_merges(
        self, prumo: Prumo, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        other.finish(record())
        told = prumo("merge", other.path, folder.path, "--json")
        assert json.loads(told.stdout)["taken"] == ["C01-r1"]
        assert prumo("merge", folder.path / "absent", folder.path).returncode == 2


def test_what_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="file"):
        ResultsFolder(tmp_path / "file").create()
