"""Prepared photographs as TFRecord shards, a set for each subset, and their `records.json`."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

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
from prumo_retina.dataset.data_folder import DataFolder, csv_text, read_preparation, read_table
from prumo_retina.dataset.manifest import MANIFEST_FILE, manifest_sha256, read_manifest
from prumo_retina.fundus.preparation import Part, Preparation, Verdict
from prumo_retina.grade import GRADE_COUNT
from prumo_retina.records.split import Selection, Shares, Split, select, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_retina.dataset.manifest import Entry

RECORDS_FOLDER, CARD_FILE, SPLIT_FILE = "records", "records.json", "split.csv"
NAME = "image/filename"
_SPLIT_COLUMNS = ("image", "subset")
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
    grades: Mapping[str, tuple[int, ...]]
    """How many photographs of each `before` anything was left out, `after` it, in each subset."""

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "grades": dict(self.grades),
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
    """Choose and split the photographs of a prepared folder; write, read back and check records.

    `shards` is how many files each subset has; by their size when absent.
    """
    # Before the rows: should a preparation come between, the records are known to be old.
    manifest = manifest_sha256(data)
    entries, preparation = read_manifest(data), read_preparation(data)
    selection = select(entries)
    parted = split(selection, shares, seed)
    split_text = _split_text(parted)
    with _replaced_records(data, split_text) as folder:
        writer = _Writer(data, folder, preparation.size, progress)
        subsets = {
            subset: writer.written(subset, members, shards)
            for subset, members in parted.subsets.items()
        }
        card = RecordsCard(
            preparation=preparation,
            seed=seed,
            test=None if shares.folds else shares.test,
            validation=None if shares.folds else shares.validation,
            folds=shares.folds,
            by_patient=any(entry.patient for entry in selection.chosen),
            subsets=subsets,
            left_out=selection.reasons,
            content=_content_hash(writer.lines),
            split_sha256=hashlib.sha256(split_text.encode()).hexdigest(),
            manifest_sha256=manifest,
        )
        _require_read_back(folder, card, progress)
        write_json(folder / CARD_FILE, card)
    there = [entry for entry in entries if entry.verdict is not Verdict.MISSING]
    columns = {"before": there, "after": selection.chosen, **parted.subsets}
    grades = {head: _grade_counts(members) for head, members in columns.items()}
    return Conversion(selection, parted, card, grades)


@contextmanager
def _replaced_records(data: Path, split_text: str) -> Iterator[Path]:
    """A new folder, which becomes that of the records at the end, together with `split.csv`.

    The old ones go before the new `split.csv` comes, so that whatever stops this, no split lies
    beside records of another one.
    """
    new, old, final = data / ".records.new", data / ".records.old", data / RECORDS_FOLDER
    try:
        with DataFolder(data).locked():
            for leftover in (new, old):
                shutil.rmtree(leftover, ignore_errors=True)
            new.mkdir()
            yield new
            if final.exists():
                final.rename(old)
            write_whole(data / SPLIT_FILE, split_text)
            new.rename(final)
            shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise StorageError(f"cannot write {final}: {error.strerror or error}") from error


class _Writer:
    """Writes subsets as shards, and notes a line about each photograph in them."""

    def __init__(self, data: Path, folder: Path, size: int, progress: Progress) -> None:
        self._data, self._folder, self._size, self._progress = data, folder, size, progress
        self.lines: list[str] = []

    def written(self, subset: str, members: Sequence[Entry], shards: int | None) -> SubsetCard:
        """Write a subset in parts of about equal size, with every grade spread over all of them."""
        size_bytes = sum(self._path(entry).stat().st_size for entry in members)
        count = min(shards or -(-size_bytes // _SHARD_BYTES), len(members))
        graded = sorted(members, key=lambda entry: (entry.grade, entry.image))
        sizes: dict[str, int] = {}
        for number in range(count):
            name = shard_name(subset, number, count)
            self._progress.show("writing records", name)
            write_records(self._folder / name, self._records(subset, graded[number::count]))
            sizes[name] = (self._folder / name).stat().st_size
        return SubsetCard(images=len(members), grades=_grade_counts(members), shards=sizes)

    def _records(self, subset: str, members: Iterable[Entry]) -> Iterator[bytes]:
        for entry in members:
            path = self._path(entry)
            try:
                jpeg = path.read_bytes()
            except OSError as error:
                raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
            example = Example(
                texts={IMAGE: [jpeg], "image/format": [b"jpeg"], NAME: [entry.image.encode()]},
                numbers={
                    LABEL: [int(entry.grade or 0)],
                    "image/height": [self._size],
                    "image/width": [self._size],
                },
            )
            self.lines.append(_content_line(subset, example))
            yield written_example(example)

    def _path(self, entry: Entry) -> Path:
        path = self._data / entry.output
        if not path.is_file():
            raise DataError(f"{path}: is in the manifest and not there; prepare the folder again")
        return path


def _content_line(subset: str, example: Example) -> str:
    (image,), (grade,), (jpeg,) = example.texts[NAME], example.numbers[LABEL], example.texts[IMAGE]
    return f"{image.decode()},{subset},{grade:d},{hashlib.sha256(jpeg).hexdigest()}\n"


def _content_hash(lines: Iterable[str]) -> str:
    """The hash of what photographs and grades are in which subset, in any order."""
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _require_read_back(folder: Path, card: RecordsCard, progress: Progress) -> None:
    """Whether the files hold, checksum by checksum, what was to be written."""
    lines = []
    for subset, described in card.subsets.items():
        for name in described.shards:
            progress.show("reading records back", name)
            examples = read_examples([folder / name])
            lines += [_content_line(subset, example) for _, example in examples]
    if _content_hash(lines) != card.content:
        raise StorageError(f"{folder}: other records were read than written; is the disk sound?")


def _split_text(split: Split) -> str:
    rows = sorted(
        (entry.name, subset)
        for parts in (split.subsets, split.ungradable)
        for subset, members in parts.items()
        for entry in members
    )
    return csv_text(_SPLIT_COLUMNS, rows)


def _grade_counts(entries: Iterable[Entry]) -> tuple[int, ...]:
    counts = Counter(entry.grade for entry in entries)
    return tuple(counts[grade] for grade in range(GRADE_COUNT))


class SubsetCard(Part):
    """One subset: how many photographs of each grade, in which files."""

    images: int
    grades: tuple[int, ...]
    """How many have grade 0, 1, …"""
    shards: dict[str, int]
    """File → its bytes."""


class RecordsCard(Part):
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
    for subset in card.subsets.values():
        for name, size_bytes in subset.shards.items():
            if found.pop(name, None) != size_bytes:
                raise DataError(f"{folder / name}: is missing or was changed; {_ADVICE}")
    for name in found:
        raise DataError(f"{folder / name}: does not belong to the other records; {_ADVICE}")
    if hashlib.sha256(split).hexdigest() != card.split_sha256:
        raise DataError(f"{data / SPLIT_FILE}: was changed since the records were made; {_ADVICE}")
    if manifest_sha256(data) != card.manifest_sha256:
        raise DataError(
            f"{data / MANIFEST_FILE}: was changed since the records were made; {_ADVICE}"
        )
    return card


def read_split(data: Path) -> dict[str, str]:
    """Name → subset of every photograph with a grade, also of those that cannot be judged."""
    try:
        rows = list(read_table(data / SPLIT_FILE, _SPLIT_COLUMNS))
    except DataError as error:
        raise DataError(f"{error}; {_ADVICE}") from error
    return {row["image"]: row["subset"] or "" for _, row in rows}


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
