"""Where the labels of a folder of photographs come from: a file, or the names of folders."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.retina.dataset.labelling import Labelling, labelled_by_file, labelled_by_folders
from prumo.retina.dataset.labels import has_labels, read_labels
from prumo.retina.dataset.photograph_folder import shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.retina.dataset.labels import Columns, LabelFile
    from prumo.retina.dataset.photograph_folder import PhotographFolder


def find_labels(
    found: PhotographFolder, asked: Path | None, columns: Columns, progress: Progress
) -> Labelling:
    """The labels of the file that was asked for, or of what lies in the folder itself."""
    inputs = list(found.photographs)
    if asked is not None:
        return labelled_by_file(
            _told(read_labels(_existing(found, asked), columns), progress), inputs
        )
    fitting = [table for table in found.tables if has_labels(table, columns)]
    if len(fitting) == 1:
        return labelled_by_file(_told(read_labels(fitting[0], columns), progress), inputs)
    if fitting:
        names = _listed(found, fitting)
        progress.say(f"labels: none, for {names} all may hold them: give one with --labels")
        return Labelling()
    if asked_for := [f"{role} column '{name}'" for role, name in asdict(columns).items() if name]:
        raise InputError(f"no CSV file in {found.path} has the {' and the '.join(asked_for)}")
    labelling = labelled_by_folders(inputs)
    if labelling.source:
        progress.say(f"labels: {labelling.source}")
    elif found.tables:
        progress.say(
            f"labels: none, for the columns of {_listed(found, found.tables)} are not known: "
            "name them with --image-column and --grade-column"
        )
    return labelling


def _told(file: LabelFile, progress: Progress) -> LabelFile:
    """Say every column that was taken: that of the patients decides how photographs are split."""
    progress.say(f"labels: {file.path}, columns: {file.columns}")
    return file


def _existing(found: PhotographFolder, asked: Path) -> Path:
    """The file as it is named from here, or from the folder of photographs."""
    for path in (asked, found.path / asked):
        if path.is_file():
            return path
    there = f"there are {_listed(found, found.tables)}" if found.tables else "no CSV file is there"
    raise InputError(f"there is no labels file {asked}, neither here nor in {found.path}: {there}")


def _listed(found: PhotographFolder, tables: Iterable[Path]) -> str:
    return ", ".join(shown(table, found.path) for table in tables)
