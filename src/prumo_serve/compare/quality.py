"""Images whose labels are known, and how right each variant's answers to them are."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import DataError, InputError
from prumo_serve.choices import ALL
from prumo_serve.estimates import area_under_curve, rate
from prumo_serve.image_folder import ImageFolder, find_images
from prumo_serve.source import FORMATS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prumo_serve.compare.comparison import Comparison, Variant
    from prumo_serve.estimates import Estimate
    from prumo_serve.manifest import Manifest

_IMAGE_COLUMNS = ("image", "file", "filename", "name", "path")
_LABEL_COLUMNS = ("label", "class")

NO_LABEL = "without a label"
DUPLICATE = "duplicates of others"


def quality(judged: Judged) -> Quality:
    """The figures of at least one image."""
    found = Quality(rate(judged.is_right, judged.patients), kappa=judged.kappa)
    decision, patients = judged.decision, judged.patients
    if decision is None:
        return found
    auc = None
    if 0 < decision.true.sum() < len(decision.true):
        auc = area_under_curve(decision.probability, decision.true, patients)
    sensitivity = _among(decision.true, decision.predicted, patients)
    specificity = _among(~decision.true, ~decision.predicted, patients)
    return replace(found, sensitivity=sensitivity, specificity=specificity, auc=auc)


def _among(
    chosen: NDArray[np.bool_], hits: NDArray[np.bool_], patients: Sequence[str] | None
) -> Estimate | None:
    if not chosen.any():
        return None
    return rate(hits[chosen], None if patients is None else np.asarray(patients)[chosen])


def read_label_table(
    path: Path, names: Iterable[str], known_labels: Sequence[str]
) -> dict[str, str]:
    """The label of each image that the table names, by its path in the folder or its file name."""
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
    found = next((name for name in wanted if name in columns), None)
    if found is None:
        raise DataError(
            f"{path} has no column {' or '.join(wanted)}; it has {', '.join(columns) or 'none'}"
        )
    return found


def _places(names: Iterable[str]) -> dict[str, str]:
    """What an image may be called in a table → its name; a name that two share means neither."""
    by_path = {name: name for name in names}
    counts = Counter(PurePosixPath(name).name for name in by_path)
    by_name = {PurePosixPath(name).name: name for name in by_path}
    return {short: name for short, name in by_name.items() if counts[short] == 1} | by_path


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
    """The images with a label, and why others have none; an error where there is no label."""
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


@dataclass(frozen=True)
class Quality:
    """Figures of one variant on labelled images; those that its task does not have are None."""

    accuracy: Estimate
    sensitivity: Estimate | None = None
    """Of a decision, or of the second of two classes."""
    specificity: Estimate | None = None
    auc: Estimate | None = None
    kappa: Estimate | None = None
    """Quadratic weighted, of labels that are in an order."""


@dataclass(frozen=True)
class Decision:
    """Yes or no for each image, said and true."""

    predicted: NDArray[np.bool_]
    true: NDArray[np.bool_]
    probability: NDArray[np.float64]
    """Of yes."""
    name: str = ""
    """What is decided, in a word, where it is not the label that everybody reads."""
    is_label: bool = True
    """Whether the label says what was decided."""


@dataclass(frozen=True)
class Judged:
    """The answers to images that a network was asked about, and what is true of them."""

    predicted: NDArray[np.intp]
    """The place of the label that was given to each image."""
    true: NDArray[np.intp]
    probabilities: NDArray[np.float64]
    """(image, label)."""
    patients: list[str] | None = None
    """Whose each image is; None where nobody knows any."""
    decision: Decision | None = None
    kappa: Estimate | None = None

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether each label is the true one."""
        return np.asarray(self.predicted == self.true)


def patients_of(truths: Sequence[Truth]) -> list[str] | None:
    """Whose each image is; None where nobody knows any."""
    names = [truth.patient for truth in truths]
    return names if any(names) else None


def seen_counts(
    variants: Sequence[Variant], folder: ImageFolder, names: Sequence[str]
) -> tuple[int | None, ...]:
    """Of each variant, how many of the named images; None where its package does not say."""
    lists = [variant.package.seen for variant in variants]
    if all(seen is None for seen in lists):
        return (None,) * len(lists)
    judged = [folder.sha256(name) for name in names]
    return tuple(None if seen is None else sum(one in seen for one in judged) for seen in lists)


def seen_sentences(comparison: Comparison) -> Iterator[str]:
    """What figures of seen photographs are worth; and of which model nobody knows them."""
    material = comparison.material
    if material is None:
        return
    names: dict[int, list[str]] = defaultdict(list)
    for row in comparison.rows:
        if row.seen:
            names[row.seen].append(row.variant)
    for count, variants in names.items():
        yield (
            f"{_listed(variants)} learnt from {count} of the {material.images} judged photographs: "
            "the figures of accuracy are better than they would be on new photographs. How often "
            "the variants agree remains meaningful."
        )
    unknown = [
        row.variant
        for row in comparison.rows
        if row.seen is None and row.manifest.origin.format not in FORMATS
    ]
    if unknown:
        yield (
            f"Whether {_listed(unknown)} learnt from the judged photographs is not known: the "
            "package has no list of them."
        )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
