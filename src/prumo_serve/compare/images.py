"""Images whose right answer is known, as one folder holds them."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from prumo.errors import DataError, InputError, did_you_mean
from prumo_retina.dataset.data_folder import is_prepared
from prumo_retina.dataset.folder import find_photographs
from prumo_retina.dataset.labelling import find_labels
from prumo_retina.dataset.labels import Columns
from prumo_retina.dataset.manifest import read_manifest
from prumo_retina.records.card import SPLIT_FILE, read_split
from prumo_retina.records.split import select
from prumo_serve.image_folder import ImageFolder, find_images, require_same_preparation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_retina.dataset.manifest import Entry
    from prumo_serve.manifest import Manifest


_IMAGE_COLUMNS = ("image", "file", "filename", "name", "path")
_LABEL_COLUMNS = ("label", "class")


def read_label_table(
    path: Path, names: Iterable[str], known_labels: Sequence[str]
) -> dict[str, str]:
    """The label of each image that the table names, by its path in the folder or by its file name.

    Raises:
        DataError: The table cannot be read, has a label that is unknown, or fits no image.
    """
    rows = _rows(path)
    places = _places(names)
    found: dict[str, str] = {}
    for line, image, label in rows:
        if label not in known_labels:
            raise DataError(
                f"{path}:{line}: '{label}' is no label of the model, which has "
                f"{', '.join(known_labels[:10])}"
            )
        name = places.get(image)
        if name is None:
            continue
        if found.setdefault(name, label) != label:
            raise DataError(f"{path}:{line}: {image} has two labels")
    if not found:
        raise DataError(f"{path}: no line fits an image; its first names '{rows[0][1]}'")
    return found


def _rows(path: Path) -> list[tuple[int, str, str]]:
    """Line, image and label."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = [name.strip().lower() for name in reader.fieldnames or ()]
            reader.fieldnames = columns
            image = _column(columns, _IMAGE_COLUMNS, path)
            label = _column(columns, _LABEL_COLUMNS, path)
            rows = [
                (reader.line_num, (row[image] or "").strip(), (row[label] or "").strip())
                for row in reader
            ]
    except FileNotFoundError:
        raise DataError(f"there is no labels file {path}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    if not rows:
        raise DataError(f"{path} has no line with a label")
    return rows


def _column(columns: Sequence[str], wanted: Sequence[str], path: Path) -> str:
    for name in wanted:
        if name in columns:
            return name
    raise DataError(
        f"{path} has no column {' or '.join(wanted)}; it has {', '.join(columns) or 'none'}"
    )


def _places(names: Iterable[str]) -> dict[str, str]:
    """What an image may be called in a table → its name; a name that two share means neither."""
    by_path = {name: name for name in names}
    by_name: dict[str, str] = {}
    doubled = set()
    for name in by_path:
        short = PurePosixPath(name).name
        doubled |= {short} & by_name.keys()
        by_name[short] = name
    return {short: name for short, name in by_name.items() if short not in doubled} | by_path


ALL = "all"
NO_LABEL = "without a label"
DUPLICATE = "duplicates of others"


@dataclass(frozen=True)
class Truth:
    """The right answer to one image."""

    place: int
    """Of the label, or the grade of a retina."""
    patient: str = ""


@dataclass(frozen=True)
class LabelledImages:
    """A folder of images, and the truth of those that have one."""

    folder: ImageFolder
    truths: Mapping[str, Truth]
    """By the image's name; also of prepared photographs that nobody can judge."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Why others are not among them, with how many."""


@dataclass(frozen=True)
class ImageWish:
    """Which images models are judged on."""

    folder: Path
    labels: Path | None = None
    """A table; None for the one that lies in the folder, or for the names of its folders."""
    subset: str = ALL
    """Of a folder that `prumo retina convert` has split."""


def labelled_images(wish: ImageWish, manifest: Manifest, progress: Progress) -> LabelledImages:
    """The images of a folder that have a label.

    Raises:
        InputError: There are no images, or no labels that are known.
        DataError: Labels cannot be read, or are not those of the model.
    """
    if is_prepared(wish.folder):
        return _prepared(wish, manifest)
    if wish.subset != ALL:
        raise InputError(
            f"only a folder that `prumo retina convert` has split has the subset '{wish.subset}'"
        )
    if manifest.task == "classification":
        return _classified(wish, manifest)
    return _photographs(wish, progress)


def _prepared(wish: ImageWish, manifest: Manifest) -> LabelledImages:
    if wish.labels is not None:
        raise InputError(
            f"{wish.folder} was prepared with its labels: --labels goes with photographs"
        )
    require_same_preparation(wish.folder, manifest)
    entries = _of_subset(read_manifest(wish.folder), wish)
    selection = select(entries)
    graded = [*selection.chosen, *selection.ungradable]
    once = [entry for entry in graded if not entry.duplicate_of]
    counts = Counter(left.reason for left in selection.left_out)
    counts["ungradable"] -= len(selection.ungradable)
    counts[DUPLICATE] = len(graded) - len(once)
    files = {entry.name: wish.folder / entry.output for entry in once if entry.verdict.is_gradable}
    truths = {entry.name: Truth(int(entry.grade or 0), entry.patient) for entry in once}
    hashes = {entry.name: entry.sha256 for entry in once}
    folder = ImageFolder(wish.folder, files, is_prepared=True, photograph_sha256s=hashes)
    return _some(LabelledImages(folder, truths, dict(+counts)))


def _of_subset(entries: Iterable[Entry], wish: ImageWish) -> list[Entry]:
    if wish.subset == ALL:
        return list(entries)
    if not (wish.folder / SPLIT_FILE).exists():
        raise DataError(f"{wish.folder} has no {SPLIT_FILE}, so it has no subset '{wish.subset}'")
    subsets = read_split(wish.folder)
    known = set(subsets.values()) - {""}
    if wish.subset not in known:
        raise DataError(
            f"{wish.folder} has no subset '{wish.subset}': "
            f"{did_you_mean(wish.subset, known | {ALL})}"
        )
    return [entry for entry in entries if subsets.get(entry.name) == wish.subset]


def _photographs(wish: ImageWish, progress: Progress) -> LabelledImages:
    found = find_photographs(wish.folder)
    labelling = find_labels(found, wish.labels, Columns(), progress)
    truths = {
        name: Truth(int(label.grade), label.patient)
        for name, label in labelling.labels.items()
        if label.grade is not None
    }
    missing = len(found.photographs) - len(truths)
    folder = ImageFolder(wish.folder, found.photographs)
    return _some(LabelledImages(folder, truths, {NO_LABEL: missing} if missing else {}))


def _classified(wish: ImageWish, manifest: Manifest) -> LabelledImages:
    folder = find_images(wish.folder, manifest)
    table = wish.labels or wish.folder / "labels.csv"
    if wish.labels is not None or table.is_file():
        named = read_label_table(table, folder.files, manifest.labels)
    else:
        named = {name: PurePosixPath(name).parts[0] for name in folder.files if "/" in name}
        unknown = sorted(set(named.values()) - set(manifest.labels))
        if unknown and set(named.values()).isdisjoint(manifest.labels):
            raise DataError(
                f"{wish.folder} has folders named {', '.join(unknown[:3])}, which are no labels of "
                f"the model: {', '.join(manifest.labels[:10])}"
            )
    places = {label: place for place, label in enumerate(manifest.labels)}
    truths = {name: Truth(places[label]) for name, label in named.items() if label in places}
    missing = len(folder.files) - len(truths)
    return _some(LabelledImages(folder, truths, {NO_LABEL: missing} if missing else {}))


def _some(found: LabelledImages) -> LabelledImages:
    if not found.truths:
        raise InputError(
            f"no image of {found.folder.path} has a label: give --labels FILE.csv with columns "
            "image and label, put the table into the folder as labels.csv, or sort the images into "
            "folders that are named as the labels are"
        )
    return found
