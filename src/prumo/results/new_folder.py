"""A results folder made at once, of runs that are all known: it is there whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, StorageError
from prumo.results.folder import RECORD_FILE, ResultsFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from prumo.results.record import RunRecord


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
        folder.write_study(study_text, dict(plan))
        for record in records:
            _write_run(folder, record)
        # One flush for all: one for each of thousands of runs would take minutes on a disk.
        os.sync()
        beside.replace(path)
    except OSError as error:
        raise StorageError.on_writing(path, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _write_run(folder: ResultsFolder, record: RunRecord) -> None:
    place = folder.run_path(record.run)
    place.mkdir()
    text = json.dumps(record.model_dump(mode="json"), indent=1, ensure_ascii=False)
    (place / RECORD_FILE).write_text(text + "\n", encoding="utf-8")
