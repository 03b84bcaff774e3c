"""Fetching a known data set from its home page or a mirror."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from prumo.data.advance import Advance
from prumo.data.download import RemoteFile, download
from prumo.errors import InputError, did_you_mean
from prumo.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from prumo.progress import Progress

_SILENT = Silent()


@dataclass(frozen=True)
class Offer:
    """Where a data set can be fetched, and which files it has."""

    home: str
    mirrors: tuple[str, ...]
    files: tuple[RemoteFile, ...]


@cache
def offers() -> Mapping[str, Offer]:
    """The data sets that can be fetched, by name."""
    text = files("prumo.data").joinpath("downloads.toml").read_text(encoding="utf-8")
    return {
        name: Offer(
            entry["home"],
            tuple(entry["mirrors"]),
            tuple(RemoteFile(**file) for file in entry["files"]),
        )
        for name, entry in tomllib.loads(text).items()
    }


def fetch(
    name: str, folder: Path, places: Sequence[str] = (), progress: Progress = _SILENT
) -> list[Path]:
    """Bring the files of a data set into a folder; `places` come instead of the known ones."""
    offer = offers().get(name)
    if offer is None:
        raise InputError(f"no data set '{name}' can be fetched; {did_you_mean(name, offers())}")
    for file in offer.files:
        advance = Advance(f"fetching {file.name}", file.bytes, "bytes", progress)
        if download(file, places or (offer.home, *offer.mirrors), folder, advance.reached):
            advance.ended()
        else:
            progress.say(f"{folder / file.name} is there already")
    return [folder / file.name for file in offer.files]
