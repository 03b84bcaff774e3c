"""Images whose right answer is known, as one folder holds them."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from prumo.errors import DataError, InputError
from prumo_serve.image_folder import ImageFolder, find_images
from prumo_serve.task import task_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from prumo.progress import Progress
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
    """Of the right label, or whatever else the task compares with."""
    patient: str = ""


@dataclass(frozen=True)
class LabelledImages:
    """A folder of images, and the truth of those that have one."""

    folder: ImageFolder
    truths: Mapping[str, Truth]
    """By the image's name; also of prepared images that nobody can judge."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Why others are not among them, with how many."""


@dataclass(frozen=True)
class ImageRequest:
    """Which images models are judged on."""

    folder: Path
    labels: Path | None = None
    """A table; None for the one that lies in the folder, or for the names of its folders."""
    subset: str = ALL
    """Of a folder that a task's own tools have split."""


def labelled_images(
    request: ImageRequest, manifest: Manifest, progress: Progress
) -> LabelledImages:
    """The images of a folder that have a label, as the model's task finds them.

    Raises:
        InputError: There are no images, or no labels that are known.
        DataError: Labels cannot be read, or are not those of the model.
    """
    return task_named(manifest.task).labelled_images(request, manifest, progress)


def classified_images(request: ImageRequest, manifest: Manifest) -> LabelledImages:
    """Images whose labels stand in a table, or are the names of their folders."""
    folder = find_images(request.folder, manifest)
    if request.subset != ALL:
        raise InputError(
            f"{request.folder} is not split, so it has no subset '{request.subset}': leave "
            "--subset out"
        )
    table = request.labels or request.folder / "labels.csv"
    if request.labels is not None or table.is_file():
        named = read_label_table(table, folder.files, manifest.labels)
    else:
        named = {name: PurePosixPath(name).parts[0] for name in folder.files if "/" in name}
        unknown = sorted(set(named.values()) - set(manifest.labels))
        if unknown and set(named.values()).isdisjoint(manifest.labels):
            raise DataError(
                f"{request.folder} has folders named {', '.join(unknown[:3])}, which are no labels "
                f"of the model: {', '.join(manifest.labels[:10])}"
            )
    places = {label: place for place, label in enumerate(manifest.labels)}
    truths = {name: Truth(places[label]) for name, label in named.items() if label in places}
    return labelled_or_refused(folder, truths)


def labelled_or_refused(
    folder: ImageFolder, truths: Mapping[str, Truth], left_out: dict[str, int] | None = None
) -> LabelledImages:
    """The images with a label; an error where there is none.

    Args:
        folder: All images.
        truths: Of those that have one.
        left_out: Why the others have none; by default they are counted here.
    """
    if not truths:
        raise InputError(
            f"no image of {folder.path} has a label: give --labels FILE.csv with columns "
            "image and label, put the table into the folder as labels.csv, or sort the images into "
            "folders that are named as the labels are"
        )
    if left_out is None:
        missing = len(folder.files) - len(truths)
        left_out = {NO_LABEL: missing} if missing else {}
    return LabelledImages(folder, truths, left_out)
