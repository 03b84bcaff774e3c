"""Which label belongs to which photograph: doubts are reported, never guessed away."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field, replace
from operator import itemgetter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from prumo.errors import DataError, InputError
from prumo_retina.dataset.folder import is_unread_kind, without_suffix
from prumo_retina.dataset.labels import Label, grade_of, has_labels, read_labels
from prumo_serve.image_folder import shown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_retina.dataset.folder import PhotographFolder
    from prumo_retina.dataset.labels import Columns, LabelFile


_EYE_IN_NAME = re.compile(r".+_(left|right)")


@dataclass(frozen=True)
class Labelling:
    """The labels of photographs by their paths, and what could not be brought together."""

    source: str = ""
    """Where the labels came from, in words; empty without labels."""
    labels: Mapping[str, Label] = field(default_factory=dict)
    """By the photograph's path; a photograph without a label is absent."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """By the photograph's path: why it has no label."""
    without_photograph: tuple[Label, ...] = ()


def labelled_by_file(file: LabelFile, inputs: Sequence[str]) -> Labelling:
    """Match the lines of a file by relative path, by file name, or by name without extension."""
    found: dict[str, list[Label]] = defaultdict(list)
    unfit: dict[str, list[Label]] = defaultdict(list)
    notes = dict.fromkeys(inputs, f"no label in {file.path.name}")
    indexes = [(way, _index(way, inputs)) for way in (_path, _path_stem, _name, _stem, _loose)]
    for label in file.labels:
        # By the surest way that finds any.
        keys = ((way(label.image), index) for way, index in indexes if label.image)
        fitting = next((index[key] for key, index in keys if key in index), [])
        if len(fitting) == 1:
            found[fitting[0]].append(label)
            continue
        fits = f"fits {len(fitting)} photographs: write their paths there"
        reason = f"the label in line {label.line} {fits if fitting else 'has no photograph'}"
        unfit[label.image].append(replace(label, problem=_joined([reason, label.problem])))
        for path in fitting:
            notes[path] = f"the label in line {label.line} fits other photographs too"
    if not found:
        raise DataError(
            f"{file.path}: no line fits one photograph: column '{file.columns.image}' has names "
            f"such as '{file.labels[0].image}', the photographs are named as '{inputs[0]}'"
        )
    labels = {path: _merged(several) for path, several in found.items()}
    source = str(file.path)
    if not file.columns.patient and all(_EYE_IN_NAME.fullmatch(_loose(path)) for path in labels):
        for path, label in labels.items():
            patient, _, eye = _loose(path).rpartition("_")
            labels[path] = replace(label, patient=patient, eye=eye[0].upper())
        source += ", patients and eyes by names such as 10_left"
    return Labelling(
        source=source,
        labels=labels,
        notes={path: note for path, note in notes.items() if path not in labels},
        without_photograph=tuple(map(_merged, unfit.values())),
    )


def labelled_by_folders(inputs: Sequence[str]) -> Labelling:
    """Take grades from folders named 0 to 4 or by a grade, where most photographs lie in such."""
    level = _level_of_grades(inputs)
    if level is None:
        return Labelling()
    labels, notes = {}, {}
    for path in inputs:
        folders = PurePosixPath(path).parts[:-1]
        grade = grade_of(folders[level]) if level < len(folders) else None
        if grade is None:
            notes[path] = "its folder names no grade"
        else:
            labels[path] = Label(image=path, grade=grade)
    return Labelling("the names of folders", labels, notes)


def _index(way: Callable[[str], str], inputs: Iterable[str]) -> dict[str, list[str]]:
    index: dict[str, list[str]] = defaultdict(list)
    for path in inputs:
        index[way(path)].append(path)
    return index


def _path(name: str) -> str:
    return name.replace("\\", "/").removeprefix("./").lstrip("/")


def _path_stem(name: str) -> str:
    path = _path(name)
    return (
        str(PurePosixPath(path).with_suffix("")) if is_unread_kind(path) else without_suffix(path)
    )


def _name(name: str) -> str:
    return PurePosixPath(_path(name)).name


def _stem(name: str) -> str:
    return PurePosixPath(_path_stem(name)).name


def _loose(name: str) -> str:
    # Accents are one letter or two, depending on the system that wrote the name.
    return unicodedata.normalize("NFC", _stem(name)).casefold()


def _merged(labels: Sequence[Label]) -> Label:
    """All lines about one photograph: what they contradict each other in is not known."""
    values: dict[str, Any] = {}
    problems = [label.problem for label in labels]
    for name in ("grade", "patient", "eye", "camera", "site"):
        lines = {getattr(label, name): label.line for label in reversed(labels)}
        said = {value: line for value, line in lines.items() if value not in {None, ""}}
        if len(said) == 1:
            values[name] = next(iter(said))
        elif said:
            values[name] = None if name == "grade" else ""
            # Lines and no values: a manifest must not name patients.
            lines_text = ", ".join(map(str, sorted(said.values())))
            problems.append(f"lines {lines_text} contradict each other in the {name}")
    return replace(labels[0], **values, problem=_joined(problems))


def _level_of_grades(inputs: Sequence[str]) -> int | None:
    """The depth at which most photographs have a folder that names a grade."""
    counts = Counter(
        level
        for path in inputs
        for level, folder in enumerate(PurePosixPath(path).parts[:-1])
        if grade_of(folder) is not None
    )
    level, count = max(counts.items(), key=itemgetter(1), default=(None, 0))
    return level if 2 * count > len(inputs) else None


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(filter(None, parts)))


def find_labels(
    found: PhotographFolder, asked: Path | None, columns: Columns, progress: Progress
) -> Labelling:
    """The labels of the file that was asked for, or of what lies in the folder itself."""
    inputs = list(found.photographs)
    fitting = (
        [table for table in found.tables if has_labels(table, columns)]
        if asked is None
        else [_existing(found, asked)]
    )
    if len(fitting) == 1:
        file = read_labels(fitting[0], columns)
        # Every column that was taken: that of the patients decides how photographs are split.
        progress.say(f"labels: {file.path}, columns: {file.columns}")
        return labelled_by_file(file, inputs)
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


def _existing(found: PhotographFolder, asked: Path) -> Path:
    """The file as it is named from here, or from the folder of photographs."""
    for path in (asked, found.path / asked):
        if path.is_file():
            return path
    there = f"there are {_listed(found, found.tables)}" if found.tables else "no CSV file is there"
    raise InputError(f"there is no labels file {asked}, neither here nor in {found.path}: {there}")


def _listed(found: PhotographFolder, tables: Iterable[Path]) -> str:
    return ", ".join(shown_name(table, found.path) for table in tables)
