"""Bring the runs of another results folder into this one."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prumo.errors import InputError, StorageError
from prumo.results.folder import RECORD_FILE, ResultsFolder, UnreadableRecordError
from prumo.results.record import Verdict

if TYPE_CHECKING:
    from prumo.results.record import RunRecord

STANDING = {Verdict.FINISHED: 2, Verdict.UNAVAILABLE: 0, Verdict.INTERRUPTED: 0}


@dataclass
class Merged:
    """What a merge did, by run name."""

    taken: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Runs of which this folder already had one as good."""
    unreadable: list[str] = field(default_factory=list)


def merge(source: ResultsFolder, target: ResultsFolder) -> Merged:
    """Copy runs that are missing here or say more than the one here; finished ones stay."""
    records = _records(source)
    for name, theirs in records.items():
        _refuse_other_study(source, target, name, theirs)
    merged = Merged(
        unreadable=[path.name for path in source.run_paths() if path.name not in records]
    )
    for name, theirs in records.items():
        ours = target.record(name)
        if ours is not None and _standing(ours) >= _standing(theirs):
            merged.kept.append(name)
        else:
            _copy_run(source, target, name)
            merged.taken.append(name)
    return merged


def _records(folder: ResultsFolder) -> dict[str, RunRecord]:
    records = {}
    for path in folder.run_paths():
        try:
            record = folder.record(path.name)
        except UnreadableRecordError:
            continue
        if record is not None:
            records[path.name] = record
    return records


def _refuse_other_study(
    source: ResultsFolder, target: ResultsFolder, name: str, theirs: RunRecord
) -> None:
    ours = target.record(name)
    if ours is not None and (ours.fingerprint, ours.study) != (theirs.fingerprint, theirs.study):
        raise InputError(
            f"{name} in {source.path} is a run of another study or version of it than in "
            f"{target.path}; nothing was merged"
        )


def _standing(record: RunRecord) -> int:
    return STANDING.get(record.verdict, 1)


def _copy_run(source: ResultsFolder, target: ResultsFolder, name: str) -> None:
    """Copy the files first and the record last, so that a run counts only when it is whole."""
    origin, path = source.run_path(name), target.begin(name)
    try:
        for file in sorted(origin.iterdir(), key=lambda file: file.name == RECORD_FILE):
            if file.is_file():
                shutil.copy2(file, path / file.name)
    except OSError as error:
        raise StorageError.on_writing(path, error) from error
