"""Preparing a data set: decoded, resized and cached once, whole or not there.

A prepared set is known by a hash of the files it came from, and of its size and subset.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from prumo import cache as folders
from prumo.cache import cache_error, cache_folder, made_folder, reserved
from prumo.datasets.formats import find_source
from prumo.datasets.source import EVERYTHING, Pictures, Source, Subset, count_classes, reading
from prumo.errors import BusyError, DataError, InputError, StorageError, did_you_mean
from prumo.files import file_sha256, write_json, write_whole
from prumo.progress import SILENT, Progress, ProgressCounter
from prumo_worker.data import CARD_FILE, CATALOG, IMAGES_FILE, LABELS_FILE

CONTENTS = "contents"
SETTLED_SECONDS = 2.0
"""A file that changed later than that may change again without its times showing it."""


@dataclass(frozen=True)
class Prepared:
    """Arrays that can be trained on; the worker reads the same card."""

    folder: Path
    dataset: str
    source: str
    """The path that the images came from when they were prepared."""
    kind: str
    """The format that they were in."""
    content: str
    """A hash of the files that they came from."""
    images: int
    shape: tuple[int, int, int]
    """Channels, height and width."""
    classes: int
    only_class: int | None
    created: str
    size_bytes: int = 0
    """What it takes on disk, when it was looked at."""

    @property
    def key(self) -> str:
        """Its name in the cache: a hash of its content, size and subset."""
        return self.folder.name

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {"key": self.key, **asdict(self), "folder": str(self.folder)}


def _read_card(folder: Path) -> Prepared | None:
    """The prepared set in a folder; none without a whole card and the arrays that it describes."""
    try:
        card = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
        card["shape"] = tuple(card["shape"])
        # Without hidden files: a worker may be writing one and rename it at any moment.
        visible = [file for file in folder.iterdir() if not file.name.startswith(".")]
        size_bytes = sum(file.stat().st_size for file in visible)
        prepared = Prepared(folder=folder, size_bytes=size_bytes, **card)
        # Mapped and not read.
        images = np.load(folder / IMAGES_FILE, mmap_mode="r", allow_pickle=False)
        labels = np.load(folder / LABELS_FILE, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, TypeError, KeyError, EOFError):
        return None
    count = prepared.images
    is_whole = images.shape == (count, *prepared.shape) and labels.shape == (count,)
    return prepared if is_whole else None


DATA = "data"
UNFINISHED = "."
"""Begins the name of a folder that is still being written."""


def existing(key: str) -> Prepared | None:
    """The prepared set of this key, if it is there and whole."""
    return _read_card(cache_folder() / DATA / key)


def prepared_sets() -> list[Prepared]:
    """Every prepared set in the cache, by data set, image size and number of images."""
    found = [
        _read_card(folder)
        for folder in folders.subfolders(DATA)
        if not folder.name.startswith(UNFINISHED)
    ]
    whole = [prepared for prepared in found if prepared]
    return sorted(whole, key=lambda set_: (set_.dataset, set_.shape, set_.images, set_.key))


def remove(name: str) -> list[Prepared]:
    """Remove a prepared set by its key, or every one of a data set; what they were."""
    known = prepared_sets()
    named = [prepared for prepared in known if name in {prepared.key, prepared.dataset}]
    if not named:
        names = [*(prepared.key for prepared in known), *(prepared.dataset for prepared in known)]
        hint = did_you_mean(name, names) or "nothing is prepared"
        raise InputError(f"no prepared data set is called '{name}': {hint}")
    for prepared in named:
        with held(prepared.key):
            discard(prepared.folder)
    return named


def held(key: str, before_waiting: Callable[[], None] | None = None) -> AbstractContextManager[int]:
    """Keep other processes from making or removing the same prepared set."""
    title = f"the prepared data set {key}"
    return reserved(f"{DATA}-{key}", title=title, before_waiting=before_waiting)


def discard(folder: Path) -> None:
    """Delete a folder, its card first: it is never half there and usable."""
    folders.discard(folder, CARD_FILE)


def sweep() -> None:
    """Delete what preparations left behind that were killed half-way."""
    for folder in folders.subfolders(DATA):
        if folder.name.startswith(UNFINISHED):
            with contextlib.suppress(BusyError), held(folder.name.removeprefix(UNFINISHED)):
                discard(folder)


_PREPARATION_VERSION = 1
"""Changes when the same files would be prepared in another way."""
_KEY_DIGITS = 16


@dataclass(frozen=True)
class Request:
    """What a study asks for: images of a data set, from a path, in a size."""

    dataset: str
    path: Path
    image_size: int
    subset: Subset = EVERYTHING


def prepare(
    request: Request, progress: Progress = SILENT, contents: Contents | None = None
) -> Prepared:
    """The prepared set that answers a request, made now if it is not there yet.

    `contents` that several requests share read the same files once.
    """
    source = find_source(request.path, request.dataset)
    content = (contents or Contents(progress)).of(source, source.files(request.subset))
    key = _key(request, content)
    return existing(key) or _made(request, source, key, content, progress)


def _made(request: Request, source: Source, key: str, content: str, progress: Progress) -> Prepared:
    sweep()

    def before_waiting() -> None:
        progress.say(f"{request.dataset} is being prepared by another process; waiting for it")

    with held(key, before_waiting):
        if found := existing(key):
            return found
        # Everything that can be known is checked before the first image is decoded.
        pictures = source.read()
        positions = request.subset.positions(pictures.labels, source.path)
        classes = count_classes(pictures.labels, source.class_names, request.dataset, source.path)
        card = CATALOG.get(request.dataset)
        channels = pictures.channels(positions, card.channels if card else None)
        folder = made_folder(DATA) / key
        unfinished = folder.with_name(f"{UNFINISHED}{key}")
        discard(unfinished)
        discard(folder)
        prepared = Prepared(
            folder=unfinished,
            dataset=request.dataset,
            source=str(request.path),
            kind=source.kind,
            content=content,
            images=len(positions),
            shape=(channels, request.image_size, request.image_size),
            classes=classes,
            only_class=request.subset.only_class,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        try:
            _write(prepared, pictures, positions, progress)
            unfinished.rename(folder)
        except OSError as error:
            raise cache_error(error) from error
        finally:
            discard(unfinished)
        return replace(prepared, folder=folder)


def _write(
    prepared: Prepared, pictures: Pictures, positions: np.ndarray, progress: Progress
) -> None:
    folder, shape = prepared.folder, (prepared.images, *prepared.shape)
    folder.mkdir()
    job = f"preparing {prepared.dataset} at {shape[2]}x{shape[3]}"
    counter = ProgressCounter(job, prepared.images, "images", progress)
    done = 0
    with (folder / IMAGES_FILE).open("wb") as stream:
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        _reserve(stream, stream.tell() + prod(shape))
        for block in pictures.blocks(positions, *shape[1:3]):
            stream.write(np.ascontiguousarray(block).data)
            done += len(block)
            counter.update(done)
        _flush(stream)
    with (folder / LABELS_FILE).open("wb") as stream:
        np.save(stream, pictures.labels[positions])
        _flush(stream)
    card = asdict(prepared)
    del card["folder"], card["size_bytes"]
    write_json(folder / CARD_FILE, card)
    counter.finish()


def _reserve(stream: BinaryIO, bytes_needed: int) -> None:
    """Take the room before the work: a full disk is reported at once, and writing is faster."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(stream.fileno(), 0, bytes_needed)
    except OSError as error:
        # A file system that cannot reserve room is written to without.
        if error.errno == errno.ENOSPC:
            raise StorageError(
                f"the prepared images need {bytes_needed / 1e6:.1f} MB, more than is free in "
                f"{Path(stream.name).parent}; PRUMO_CACHE can name a folder on another disk"
            ) from error


def _flush(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _key(request: Request, content: str) -> str:
    subset = (request.subset.images, request.subset.only_class)
    parts = [_PREPARATION_VERSION, request.dataset, content, request.image_size, *subset]
    return _hash_of(parts)[:_KEY_DIGITS]


class Contents:
    """The contents of data sets; files that did not change since are not read again."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._known: dict[str, str] = {}

    def of(self, source: Source, files: Sequence[Path]) -> str:
        """A hash of the names and contents of these files of a source."""
        stats = []
        for file in files:
            with reading(file):
                stats.append(file.stat())
        # Changes whenever one of the files does, as far as can be seen without reading them.
        marks = [
            (str(file.absolute()), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            for file, stat in zip(files, stats, strict=True)
        ]
        state = _hash_of([source.kind, str(source.path), list(source.class_names), marks])
        if state not in self._known:
            kept = cache_folder() / CONTENTS / state
            content = ""
            with contextlib.suppress(OSError, ValueError):
                content = kept.read_text(encoding="ascii")
            self._known[state] = content or self._read(source, files, stats)
            if max(stat.st_ctime for stat in stats) < time.time() - SETTLED_SECONDS:
                # A cache that cannot be written only costs the reading next time.
                with contextlib.suppress(OSError, StorageError):
                    write_whole(made_folder(CONTENTS) / state, self._known[state])
        return self._known[state]

    def _read(self, source: Source, files: Sequence[Path], stats: Sequence[os.stat_result]) -> str:
        root = source.path if source.path.is_dir() else source.path.parent
        job = f"reading {source.path}"
        total_bytes = sum(stat.st_size for stat in stats)
        self._progress.show(job)
        counter = ProgressCounter(job, total_bytes, "bytes", self._progress)
        pairs, done = [], 0
        for file, stat in zip(files, stats, strict=True):
            try:
                pairs.append((file.relative_to(root).as_posix(), file_sha256(file)))
            except InputError as error:
                raise DataError(str(error)) from error
            done += stat.st_size
            counter.update(done)
        return _hash_of([source.kind, list(source.class_names), pairs])


def _hash_of(parts: Sequence[object]) -> str:
    """One hash of many parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
