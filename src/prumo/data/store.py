"""The prepared data sets in the cache: which there are, and their removal."""

from __future__ import annotations

import contextlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prumo.cache import folder as folders
from prumo.cache.folder import cache_folder
from prumo.cache.reservation import reserved
from prumo.data.prepared import Prepared, read_card
from prumo.errors import BusyError, InputError, did_you_mean
from prumo_worker.data.prepared import CARD_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DATA = "data"
UNFINISHED = "."
"""Begins the name of a folder that is still being written."""


def existing(key: str) -> Prepared | None:
    """The prepared set of this key, if it is there and whole."""
    return read_card(cache_folder() / DATA / key)


def prepared_sets() -> list[Prepared]:
    """Every prepared set in the cache, by data set, image size and number of images."""
    found = [
        read_card(folder)
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


@contextmanager
def held(key: str, before_waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Keep other processes from making or removing the same prepared set."""
    title = f"the prepared data set {key}"
    with reserved(f"{DATA}-{key}", title=title, before_waiting=before_waiting):
        yield


def discard(folder: Path) -> None:
    """Delete a folder, its card first: it is never half there and usable."""
    folders.discard(folder, CARD_FILE)


def sweep() -> None:
    """Delete what preparations left behind that were killed half-way."""
    for folder in folders.subfolders(DATA):
        if folder.name.startswith(UNFINISHED):
            with contextlib.suppress(BusyError), held(folder.name.removeprefix(UNFINISHED)):
                discard(folder)
