"""The results folder of a study: where runs are kept, found and locked."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from prumo.errors import InputError, StorageError
from prumo.files import json_text, locked, write_json, write_whole
from prumo.results.record import FORMAT, RunRecord

STUDY_FILE = "study.yaml"
PLAN_FILE = "plan.json"
RECORD_FILE = "run.json"
TASK_FILE = "task.json"
JOURNAL_FILE = "events.jsonl"
SAMPLES_FILE = "samples.csv"
LOG_FILE = "worker.log"

RUN_NAME = re.compile(r"C\d+-r\d+", re.ASCII)


class UnreadableRecordError(StorageError):
    """A run.json that was read and is not the record of the run that its folder names."""


@dataclass(frozen=True)
class Runs:
    """The runs of a folder by name, as far as their records go."""

    records: dict[str, RunRecord] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


class ResultsFolder:
    """`results/STUDY`: the study as it was run, its plan, one folder per run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs_path = path / "runs"
        self.attempts_path = path / "attempts"
        self.incoming_path = path / ".incoming"
        """Where a run of another folder stands until it is whole."""

    @classmethod
    def existing(cls, path: Path) -> ResultsFolder:
        """The folder at `path`, or an error saying that it holds no results."""
        folder = cls(path)
        if not folder.runs_path.is_dir():
            raise InputError(
                f"{path} is not a results folder: it has no 'runs' inside. "
                "Give the folder that `prumo run` named, such as results/STUDY."
            )
        return folder

    def create(self) -> None:
        """Make the folder where it does not exist yet."""
        with StorageError.writing(self.runs_path):
            self.runs_path.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other Prumo processes out of this folder; the lock ends with the process."""
        advice = "Wait for it to end, or give another folder with --results."
        with locked(self.path / ".lock", advice):
            yield

    def run_path(self, run_name: str) -> Path:
        """The folder of a run."""
        return self.runs_path / run_name

    def run_paths(self) -> list[Path]:
        """The folders of all runs, finished or not, by name."""
        return [path for path in self._folders() if RUN_NAME.fullmatch(path.name)]

    def stray_paths(self) -> list[Path]:
        """Folders that hold a record and are not named as a run: copies that somebody made."""
        others = set(self._folders()) - set(self.run_paths())
        return sorted(path for path in others if (path / RECORD_FILE).exists())

    def record(self, run_name: str) -> RunRecord | None:
        """The record of a run; None while it has none."""
        return read_record(self.run_path(run_name))

    def runs(self) -> Runs:
        """Every run of the folder."""
        runs = Runs()
        for name in (path.name for path in self.run_paths()):
            try:
                record = self.record(name)
            except UnreadableRecordError:
                runs.unreadable.append(name)
                continue
            if record is None:
                runs.unfinished.append(name)
            else:
                runs.records[name] = record
        return runs

    def begin(self, run_name: str) -> Path:
        """An empty folder for a run. What an unfinished run left there is removed."""
        path = self.run_path(run_name)
        with StorageError.writing(path):
            _remove_run(path)
            path.mkdir(parents=True)
        return path

    def finish(self, record: RunRecord) -> None:
        """Write a run's record: from this moment on the run counts."""
        path = self.run_path(record.run)
        with StorageError.writing(path):
            path.mkdir(parents=True, exist_ok=True)
        _write_json(path / RECORD_FILE, record.model_dump(mode="json"))

    def take_in(self, origin: Path, *, set_old_aside: bool) -> None:
        """Copy a run's folder from elsewhere; a kill leaves the old run, none, or the new whole."""
        path, incoming = self.run_path(origin.name), self.incoming_path / origin.name
        with StorageError.writing(path):
            if self.incoming_path.exists():
                shutil.rmtree(self.incoming_path)
            incoming.mkdir(parents=True)
            for file in sorted(origin.iterdir(), key=lambda file: file.name == RECORD_FILE):
                if file.is_file():
                    with Path(shutil.copy2(file, incoming)).open("rb") as copy:
                        os.fsync(copy.fileno())
            if set_old_aside:
                self.set_aside(origin.name)
            _remove_run(path)
            incoming.rename(path)
            self.incoming_path.rmdir()

    def set_aside(self, run_name: str) -> Path:
        """Keep a run that will be tried again under `attempts`."""
        with StorageError.writing(self.attempts_path):
            self.attempts_path.mkdir(exist_ok=True)
            targets = (self.attempts_path / f"{run_name}.{number}" for number in count(1))
            target = next(target for target in targets if not target.exists())
            self.run_path(run_name).rename(target)
        return target

    def write_task(self, run_name: str, task: Mapping[str, Any]) -> None:
        """Write what a worker is asked."""
        _write_json(self.run_path(run_name) / TASK_FILE, task)

    def write_study(self, text: str, plan: Mapping[str, Any]) -> None:
        """Keep the study as it is run, and how it was ordered."""
        with StorageError.writing(self.path / STUDY_FILE):
            write_whole(self.path / STUDY_FILE, text)
        _write_json(self.path / PLAN_FILE, plan)

    def _folders(self) -> list[Path]:
        if not self.runs_path.is_dir():
            return []
        return sorted(path for path in self.runs_path.iterdir() if path.is_dir())


def _write_json(path: Path, content: object) -> None:
    with StorageError.writing(path):
        write_json(path, content)


def read_record(path: Path) -> RunRecord | None:
    """The record in a run's folder; None without one.

    Raises:
        UnreadableRecordError: It is no record, or that of another run: the run can be repeated.
        InputError: A newer Prumo wrote it.
        StorageError: The file itself cannot be read.
    """
    file = path / RECORD_FILE
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror}") from error
    try:
        values = json.loads(content)
        if isinstance(values, dict) and values.get("format", FORMAT) > FORMAT:
            raise InputError(
                f"{file} was written by a newer prumo (format {values['format']}): upgrade this one"
            )
        record = RunRecord.model_validate(values)
    except (ValueError, TypeError, ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableRecordError(f"{file} is not a run record: {reason}") from error
    if record.run != path.name:
        raise UnreadableRecordError(
            f"the name of {path} does not match its record, which is of {record.run}"
        )
    return record


def _remove_run(path: Path) -> None:
    """Remove a run's folder, its record first: what is left after a kill counts as no run."""
    if path.exists():
        (path / RECORD_FILE).unlink(missing_ok=True)
        shutil.rmtree(path)


def require_absent(path: Path) -> None:
    """Refuse a folder that has something in it: a results folder is made whole."""
    if not path.name:
        raise InputError(f"{path} is where you are; give a folder of its own with --into")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(
            f"{path} is there already: a study is imported whole, once. Remove it, or give "
            "another folder with --into."
        )


def write_results(
    path: Path, study_text: str, plan: Mapping[str, Any], records: Iterable[RunRecord]
) -> None:
    """Write study, plan and runs beside the folder's place, then put them there."""
    require_absent(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    folder = ResultsFolder(beside)
    folder.create()
    try:
        folder.write_study(study_text, plan)
        for record in records:
            folder.run_path(record.run).mkdir()
            text = json_text(record.model_dump(mode="json"))
            file = folder.run_path(record.run) / RECORD_FILE
            file.write_text(text + "\n", encoding="utf-8")
        # One flush for all: one for each of thousands of runs would take minutes on a disk.
        os.sync()
        beside.replace(path)
    except OSError as error:
        raise StorageError.on_writing(path, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
