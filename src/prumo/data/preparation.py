"""Preparing a data set: decoded, resized and cached once, whole or not there."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prumo.cache.folder import cache_error, made_folder
from prumo.data.advance import Advance
from prumo.data.classes import count_classes
from prumo.data.content import Contents, hash_of
from prumo.data.formats import find_source
from prumo.data.prepared import Prepared, write_card
from prumo.data.source import EVERYTHING, Subset
from prumo.data.store import DATA, UNFINISHED, discard, existing, held, sweep
from prumo.errors import StorageError
from prumo.progress import Silent
from prumo_worker.data.catalog import CATALOG
from prumo_worker.data.prepared import IMAGES_FILE, LABELS_FILE

if TYPE_CHECKING:
    from typing import BinaryIO

    from prumo.data.source import Pictures, Source
    from prumo.progress import Progress

_RULE = 1
"""Changes when the same files would be prepared in another way."""
_KEY_LENGTH = 16
_SILENT = Silent()


@dataclass(frozen=True)
class Request:
    """What a study asks for: images of a data set, from a path, in a size."""

    dataset: str
    path: Path
    image_size: int
    subset: Subset = EVERYTHING


@dataclass(frozen=True)
class _Choice:
    """The images of a request, read as far as needed to know that it can be met."""

    pictures: Pictures
    positions: np.ndarray
    labels: np.ndarray
    shape: tuple[int, int, int]
    classes: int

    @property
    def image_bytes(self) -> int:
        return len(self.labels) * prod(self.shape)


def prepare(
    request: Request, progress: Progress = _SILENT, contents: Contents | None = None
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
        choice = _choose(request, source)
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
            images=len(choice.labels),
            shape=choice.shape,
            classes=choice.classes,
            only_class=request.subset.only_class,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        try:
            _write(prepared, choice, progress)
            unfinished.rename(folder)
        except OSError as error:
            raise cache_error(error) from error
        finally:
            discard(unfinished)
        return replace(prepared, folder=folder)


def _choose(request: Request, source: Source) -> _Choice:
    """Check everything that can be known before the first image is decoded."""
    pictures = source.read()
    positions = request.subset.positions(pictures.labels, source.path)
    classes = count_classes(pictures.labels, source.class_names, request.dataset, source.path)
    card = CATALOG.get(request.dataset)
    channels = pictures.channels(positions, card.channels if card else None)
    shape = (channels, request.image_size, request.image_size)
    return _Choice(pictures, positions, pictures.labels[positions], shape, classes)


def _write(prepared: Prepared, choice: _Choice, progress: Progress) -> None:
    folder = prepared.folder
    folder.mkdir()
    size = f"{choice.shape[1]}x{choice.shape[2]}"
    job = f"preparing {prepared.dataset} at {size}"
    advance = Advance(job, prepared.images, "images", progress)
    done = 0
    with (folder / IMAGES_FILE).open("wb") as stream:
        header = {
            "descr": "|u1",
            "fortran_order": False,
            "shape": (len(choice.labels), *choice.shape),
        }
        np.lib.format.write_array_header_1_0(stream, header)
        _reserve(stream, stream.tell() + choice.image_bytes)
        for block in choice.pictures.blocks(choice.positions, *choice.shape[:2]):
            stream.write(np.ascontiguousarray(block).data)
            done += len(block)
            advance.reached(done)
        _flush(stream)
    with (folder / LABELS_FILE).open("wb") as stream:
        np.save(stream, choice.labels)
        _flush(stream)
    write_card(prepared)
    advance.ended()


def _reserve(stream: BinaryIO, bytes_needed: int) -> None:
    """Take the room before the work: a full disk is told at once, and writing is much faster."""
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
    subset = request.subset
    parts = [_RULE, request.dataset, content, request.image_size, subset.images, subset.only_class]
    return hash_of(parts)[:_KEY_LENGTH]
