"""Prepared photographs as TFRecord shards, a set for each subset, and their `records.json`."""

from __future__ import annotations

import csv
import hashlib
import io
import shutil
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from prumo.datasets.formats.tfrecord import (
    IMAGE,
    LABEL,
    Example,
    read_examples,
    shard_name,
    write_records,
    written_example,
)
from prumo.errors import DataError, StorageError, did_you_mean
from prumo.files import write_json, write_whole
from prumo_retina.dataset.data_folder import DataFolder, read_preparation
from prumo_retina.dataset.manifest import MANIFEST_FILE, manifest_sha256, read_manifest
from prumo_retina.fundus.preparation import Preparation, Verdict
from prumo_retina.grade import GRADE_COUNT, Grade
from prumo_retina.records.split import Selection, Shares, Split, select, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_retina.dataset.manifest import Entry

RECORDS_FOLDER, CARD_FILE, SPLIT_FILE = "records", "records.json", "split.csv"
NAME = "image/filename"
_SHARD_BYTES = 128 << 20
"""Large enough to be read in one go, small enough that several are read at once."""
ALL = "all"
"""Names every subset of a data folder together."""
_ADVICE = "call `prumo retina convert` again"


@dataclass(frozen=True)
class Conversion:
    """What went into the records, what did not, and why."""

    selection: Selection
    split: Split
    card: RecordsCard
    table: ClassTable
    """Grades `before` anything was left out, `after` it, and in each subset."""

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "grades": dict(self.table.columns),
            "left_out": [
                {"input": left.entry.input, "reason": left.reason, "detail": left.detail}
                for left in self.selection.left_out
            ],
            "warnings": list(self.split.warnings),
            "records": self.card.model_dump(mode="json"),
        }


def convert(
    data: Path, shares: Shares, *, seed: int, shards: int | None, progress: Progress
) -> Conversion:
    """Choose, split and write the photographs of a prepared folder."""
    # Before the rows: should a preparation come between, the records are known to be old.
    manifest = manifest_sha256(data)
    entries = read_manifest(data)
    selection = select(entries)
    parted = split(selection, shares, seed)
    contents = Contents(parted, read_preparation(data), selection.reasons, manifest, shards)
    card = write_data_records(data, contents, progress)
    there = [entry for entry in entries if entry.verdict is not Verdict.MISSING]
    table = class_table({"before": there, "after": selection.chosen, **parted.subsets})
    return Conversion(selection, parted, card, table)


@dataclass(frozen=True)
class Contents:
    """What is to be written into the records of a data folder."""

    split: Split
    preparation: Preparation
    left_out: dict[str, int]
    """Why rows of the manifest are in no subset, with how many."""
    manifest_sha256: str
    shards: int | None = None
    """Files of each subset; by their size when absent."""


def write_data_records(data: Path, contents: Contents, progress: Progress) -> RecordsCard:
    """Put the records and `split.csv` in place of those that are there, if any.

    The new ones are written beside the old, read back and checked. The old ones go before the new
    `split.csv` comes, so that whatever stops this, no split lies beside records of another one.
    """
    new, old, final = data / _NEW, data / _OLD, data / RECORDS_FOLDER
    split_text = _split_text(contents.split)
    try:
        with DataFolder(data).locked():
            for leftover in (new, old):
                shutil.rmtree(leftover, ignore_errors=True)
            new.mkdir()
            card = _written(data, new, contents, progress)
            _require_read_back(new, card, progress)
            write_json(new / CARD_FILE, card)
            if final.exists():
                final.rename(old)
            write_whole(data / SPLIT_FILE, split_text)
            new.rename(final)
            shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise StorageError(f"cannot write {final}: {error.strerror or error}") from error
    return card


def _written(data: Path, folder: Path, contents: Contents, progress: Progress) -> RecordsCard:
    split, hashed = contents.split, ContentHash()
    subsets = {}
    for subset, members in split.subsets.items():
        parts = _shards(data, members, contents.shards)
        sizes: dict[str, int] = {}
        for number, part in enumerate(parts):
            name = shard_name(subset, number, len(parts))
            progress.show("writing records", name)
            examples = _examples(data, part, contents.preparation.size)
            write_records(folder / name, _hashing(examples, subset, hashed))
            sizes[name] = (folder / name).stat().st_size
        subsets[subset] = SubsetCard(
            images=len(members), grades=grade_counts(members), shards=sizes
        )
    return RecordsCard(
        preparation=contents.preparation,
        seed=split.seed,
        test=None if split.shares.folds else split.shares.test,
        validation=None if split.shares.folds else split.shares.validation,
        folds=split.shares.folds,
        by_patient=any(entry.patient for members in split.subsets.values() for entry in members),
        subsets=subsets,
        left_out=contents.left_out,
        content=hashed.hexdigest(),
        split_sha256=hashlib.sha256(_split_text(split).encode()).hexdigest(),
        manifest_sha256=contents.manifest_sha256,
    )


def _shards(data: Path, members: Sequence[Entry], wanted: int | None) -> list[list[Entry]]:
    """Parts of about equal size, with every grade spread over all of them."""
    size_bytes = sum(_path(data, entry).stat().st_size for entry in members)
    count = min(wanted or -(-size_bytes // _SHARD_BYTES), len(members))
    graded = sorted(members, key=lambda entry: (entry.grade, entry.image))
    return [graded[number::count] for number in range(count)]


def _examples(data: Path, members: Sequence[Entry], size: int) -> Iterator[Example]:
    for entry in members:
        yield Example(
            texts={
                IMAGE: [_encoded(_path(data, entry))],
                "image/format": [b"jpeg"],
                NAME: [entry.image.encode()],
            },
            numbers={
                LABEL: [int(entry.grade or 0)],
                "image/height": [size],
                "image/width": [size],
            },
        )


def _hashing(examples: Iterator[Example], subset: str, hashed: ContentHash) -> Iterator[bytes]:
    for example in examples:
        _add(hashed, subset, example)
        yield written_example(example)


def _add(hashed: ContentHash, subset: str, example: Example) -> None:
    (image,), (grade,) = example.texts[NAME], example.numbers[LABEL]
    hashed.add(image.decode(), subset, grade, example.texts[IMAGE][0])


def _path(data: Path, entry: Entry) -> Path:
    path = data / entry.output
    if not path.is_file():
        raise DataError(f"{path}: is in the manifest and not there; prepare the folder again")
    return path


def _encoded(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _require_read_back(folder: Path, card: RecordsCard, progress: Progress) -> None:
    """Whether the files hold, checksum by checksum, what was to be written."""
    hashed = ContentHash()
    for subset, described in card.subsets.items():
        for name in described.shards:
            progress.show("reading records back", name)
            for _, example in read_examples([folder / name]):
                _add(hashed, subset, example)
    if hashed.hexdigest() != card.content:
        raise StorageError(f"{folder}: other records were read than written; is the disk sound?")


def _split_text(split: Split) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("image", "subset"))
    writer.writerows(
        sorted(
            (entry.name, subset)
            for parts in (split.subsets, split.ungradable)
            for subset, members in parts.items()
            for entry in members
        )
    )
    return text.getvalue()


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SubsetCard(_Part):
    """One subset: how many photographs of each grade, in which files."""

    images: int
    grades: tuple[int, ...]
    """How many have grade 0, 1, …"""
    shards: dict[str, int]
    """File → its bytes."""


class RecordsCard(_Part):
    """How photographs were split, so that a training can say what it learnt from."""

    format: Literal[1] = 1
    preparation: Preparation
    seed: int
    test: float | None
    """Its share, as that of the validation; folds have none."""
    validation: float | None
    folds: int
    by_patient: bool
    """Whether patients were known, and so kept on one side."""
    subsets: dict[str, SubsetCard]
    left_out: dict[str, int]
    """Why rows of the manifest are not in the records, with how many."""
    content: str
    """SHA-256 over every photograph's name, subset, grade and bytes, in whichever shards."""
    split_sha256: str
    manifest_sha256: str
    """Of the manifest that the photographs were chosen by."""


class ContentHash:
    """The hash of what photographs and grades are in which subset, in any order."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, image: str, subset: str, grade: int, encoded: bytes) -> None:
        """Add one photograph."""
        self._lines.append(f"{image},{subset},{grade:d},{hashlib.sha256(encoded).hexdigest()}\n")

    def hexdigest(self) -> str:
        """The hash of all that was added so far."""
        return hashlib.sha256("".join(sorted(self._lines)).encode()).hexdigest()


def read_card(data: Path) -> RecordsCard:
    """The card of a converted folder whose files are all there; DataError when they are not."""
    folder = data / RECORDS_FOLDER
    path = folder / CARD_FILE
    try:
        card = RecordsCard.model_validate_json(path.read_bytes())
        split = (data / SPLIT_FILE).read_bytes()
        found = {file.name: file.stat().st_size for file in folder.glob("*.tfrecord")}
    except FileNotFoundError as error:
        raise DataError(
            f"{data} has no {RECORDS_FOLDER} to train on: `prumo retina convert` makes them"
        ) from error
    except ValidationError as error:
        raise DataError(f"{path}: is not what Prumo writes; {_ADVICE}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    _require_same(card, found, folder)
    if hashlib.sha256(split).hexdigest() != card.split_sha256:
        raise DataError(f"{data / SPLIT_FILE}: was changed since the records were made; {_ADVICE}")
    if manifest_sha256(data) != card.manifest_sha256:
        raise DataError(
            f"{data / MANIFEST_FILE}: was changed since the records were made; {_ADVICE}"
        )
    return card


def read_split(data: Path) -> dict[str, str]:
    """Name → subset of every photograph with a grade, also of those that cannot be judged."""
    path = data / SPLIT_FILE
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {row["image"]: row["subset"] or "" for row in csv.DictReader(file)}
    except (OSError, UnicodeDecodeError, csv.Error, KeyError) as error:
        raise DataError(f"{path}: cannot be read: {error}; {_ADVICE}") from error


def read_subset_names(data: Path, wanted: str) -> dict[str, str]:
    """Name → subset of what was split; refuses a wanted subset that is not there."""
    if not (data / SPLIT_FILE).exists():
        raise DataError(
            f"{data} has no {SPLIT_FILE}, so it has no subset '{wanted}': "
            "give --subset all to judge the model on all of it"
        )
    subsets = read_split(data)
    known = set(subsets.values()) - {""}
    if wanted not in known:
        raise DataError(f"{data} has no subset '{wanted}': {did_you_mean(wanted, known | {ALL})}")
    return subsets


def _require_same(card: RecordsCard, found: dict[str, int], folder: Path) -> None:
    for subset in card.subsets.values():
        for name, size_bytes in subset.shards.items():
            if found.pop(name, None) != size_bytes:
                raise DataError(f"{folder / name}: is missing or was changed; {_ADVICE}")
    for name in found:
        raise DataError(f"{folder / name}: does not belong to the other records; {_ADVICE}")


@dataclass(frozen=True)
class ClassTable:
    """Columns of counts, one for each grade."""

    columns: Mapping[str, tuple[int, ...]]

    def lines(self) -> list[str]:
        """As aligned text, each count with its share of the column."""
        names = [f"{grade:d} {grade.title}" for grade in map(Grade, range(GRADE_COUNT))]
        cells = [["grade", *names, "all"]]
        cells += [_column(head, counts) for head, counts in self.columns.items()]
        widths = [max(map(len, column)) for column in cells]
        return [
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in zip(*cells, strict=True)
        ]


def class_table(columns: Mapping[str, Iterable[Entry]]) -> ClassTable:
    """Count grades; what has none is in no row."""
    return ClassTable({head: grade_counts(entries) for head, entries in columns.items()})


def grade_counts(entries: Iterable[Entry]) -> tuple[int, ...]:
    """How many photographs have each grade, from grade 0 on."""
    counts = Counter(entry.grade for entry in entries)
    return tuple(counts[grade] for grade in range(GRADE_COUNT))


def _column(head: str, counts: tuple[int, ...]) -> list[str]:
    total = sum(counts)
    shares = [f"{count / total:4.0%}" if total else "    " for count in counts]
    cells = [f"{count} {share}" for count, share in zip(counts, shares, strict=True)]
    return [head, *cells, f"{total}     "]


_NEW, _OLD = ".records.new", ".records.old"
