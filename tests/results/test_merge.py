"""Runs of several machines come together: only those of the same study, each whole or absent."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from prumo.errors import InputError
from prumo.results.folder import ResultsFolder
from prumo.results.merge import Merged, merge
from prumo.results.record import Verdict
from prumo.study import fingerprint, load
from support import merge_killed
from support.record_factory import run_record

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.results.record import RunRecord

Prumo = Callable[..., subprocess.CompletedProcess[str]]

MERGE_KILLED = merge_killed.__file__
STUDY = """
name: quick
workload: {kind: command, command: ["true", "{a}"]}
factors: {a: [1, 2]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    return _created(tmp_path / "results")


@pytest.fixture
def other(tmp_path: Path) -> ResultsFolder:
    return _created(tmp_path / "other")


def test_missing_runs_are_taken_with_all_their_files(
    folder: ResultsFolder, other: ResultsFolder
) -> None:
    (other.begin("C01-r1") / "samples.csv").write_text("time\n")
    other.finish(run_record())

    assert merge(other, folder).taken == ["C01-r1"]
    assert (folder.run_path("C01-r1") / "samples.csv").read_text() == "time\n"
    assert folder.record("C01-r1") == run_record()
    assert [path.name for path in folder.path.iterdir()] == ["runs"]


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
    folder: ResultsFolder, other: ResultsFolder, ours: Verdict, theirs: Verdict, taken: bool
) -> None:
    folder.finish(run_record(verdict=ours, order=1))
    other.finish(run_record(verdict=theirs, order=2))
    merge(other, folder)
    kept = folder.record("C01-r1")

    assert kept is not None
    assert kept.order == (2 if taken else 1)


def test_a_failure_that_is_replaced_is_kept_as_an_attempt(
    folder: ResultsFolder, other: ResultsFolder
) -> None:
    folder.finish(run_record(verdict=Verdict.CRASHED, reason="exit code 1"))
    other.finish(run_record())

    assert merge(other, folder) == Merged(taken=["C01-r1"], set_aside=["C01-r1"])
    attempt = json.loads((folder.attempts_path / "C01-r1.1" / "run.json").read_text())
    assert attempt["reason"] == "exit code 1"


def test_a_run_that_cannot_be_read_here_is_set_aside_for_one_that_can(
    folder: ResultsFolder, other: ResultsFolder
) -> None:
    (folder.begin("C01-r1") / "run.json").write_text("{")
    other.finish(run_record("C01-r1"))
    other.finish(run_record("C02-r1"))

    assert merge(other, folder) == Merged(taken=["C01-r1", "C02-r1"], set_aside=["C01-r1"])
    assert folder.record("C01-r1") == run_record("C01-r1")
    assert (folder.attempts_path / "C01-r1.1" / "run.json").read_text() == "{"


def test_runs_without_a_readable_record_are_named(
    folder: ResultsFolder, other: ResultsFolder
) -> None:
    other.begin("C01-r1")
    (other.begin("C02-r1") / "run.json").write_text("{")

    assert merge(other, folder) == Merged(unreadable=["C01-r1", "C02-r1"])


def test_a_copy_that_somebody_made_is_no_run(folder: ResultsFolder, other: ResultsFolder) -> None:
    other.finish(run_record())
    for name in ("C01-r1.bak", "C02-r1"):
        shutil.copytree(other.run_path("C01-r1"), other.run_path(name))

    assert merge(other, folder) == Merged(taken=["C01-r1"], unreadable=["C02-r1"])


class TestRefusal:
    def test_another_fingerprint_of_the_same_scenario_is_refused(
        self, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        folder.finish(run_record("C02-r1"))
        self._is_refused(other, folder, run_record("C02-r2", fingerprint="another"), "C02-r2")

    def test_another_study_is_refused_when_no_run_has_the_same_name(
        self, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        folder.finish(run_record("C02-r1"))
        self._is_refused(other, folder, run_record("C07-r1", study="slow"), "the study slow")

    def test_another_study_than_that_of_the_study_file_is_refused(
        self, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        folder.write_study(STUDY, {})
        self._is_refused(other, folder, run_record(study="slow"), "the study slow")

    def test_another_version_of_the_study_file_is_refused(
        self, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        folder.write_study(STUDY, {})
        self._is_refused(other, folder, run_record("C02-r1"), "C2 is something else")

    def test_a_scenario_that_the_study_file_does_not_have_is_refused(
        self, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        folder.write_study(STUDY, {})
        self._is_refused(other, folder, run_record("C03-r1"), "no scenario C3")

    def test_runs_of_the_study_file_are_taken_into_a_folder_without_runs(
        self, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        folder.write_study(STUDY, {})
        for record in _records_of_study(folder):
            other.finish(record)

        assert merge(other, folder).taken == ["C01-r1", "C02-r1"]

    def test_a_run_of_a_newer_prumo_is_refused(
        self, folder: ResultsFolder, other: ResultsFolder
    ) -> None:
        self._is_refused(other, folder, run_record("C02-r1", format=2), "newer prumo")

    @staticmethod
    def _is_refused(
        other: ResultsFolder, folder: ResultsFolder, refused: RunRecord, words: str
    ) -> None:
        good = run_record("C01-r1")
        if (folder.path / "study.yaml").exists():
            good = _records_of_study(folder)[0]
        other.finish(good)
        other.finish(refused)
        before = folder.run_paths()
        with pytest.raises(InputError, match=words):
            merge(other, folder)
        assert folder.run_paths() == before


@pytest.mark.parametrize("verdict", [Verdict.CRASHED, Verdict.INTERRUPTED, None])
def test_a_killed_merge_leaves_every_run_whole_or_absent(
    tmp_path: Path, folder: ResultsFolder, other: ResultsFolder, verdict: Verdict | None
) -> None:
    files = {"samples.csv": "time\n1\n", "events.jsonl": "{}\n", "worker.log": "said\n"}
    path = other.begin("C01-r1")
    for name, text in files.items():
        (path / name).write_text(text)
    other.finish(new := run_record(order=2))
    old = run_record(verdict=verdict, order=1) if verdict else None
    if old:
        folder.finish(old)
    copies = tmp_path / "copies"
    subprocess.run([sys.executable, MERGE_KILLED, other.path, folder.path, copies], check=True)
    killed = [ResultsFolder(path) for path in copies.iterdir()]

    assert len(killed) > 8
    assert {"before", "after"} == {
        "after" if target.record("C01-r1") == new else "before" for target in killed
    }
    for target in killed:
        found = target.record("C01-r1")
        assert found in (None, old, new)
        assert found != new or _texts(target.run_path("C01-r1")) >= files.items()
        merge(other, target)
        assert target.record("C01-r1") == new
        assert _texts(target.run_path("C01-r1")) >= files.items()


def test_the_command_line_merges(prumo: Prumo, folder: ResultsFolder, other: ResultsFolder) -> None:
    other.finish(run_record())
    told = prumo("merge", other.path, folder.path, "--json")

    assert json.loads(told.stdout)["taken"] == ["C01-r1"]
    assert prumo("merge", folder.path / "absent", folder.path).returncode == 2


def _created(path: Path) -> ResultsFolder:
    made = ResultsFolder(path)
    made.create()
    return made


def _records_of_study(folder: ResultsFolder) -> list[RunRecord]:
    study = load(folder.path / "study.yaml")
    return [
        run_record(f"C{scenario.number:02d}-r1", fingerprint=fingerprint(study, scenario))
        for scenario in study.scenarios()
    ]


def _texts(path: Path) -> set[tuple[str, str]]:
    return {(file.name, file.read_text()) for file in path.iterdir()}
