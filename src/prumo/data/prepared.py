"""A prepared data set in the cache, and the card that makes it one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.whole_file import write_whole
from prumo_worker.data.prepared import CARD_FILE, IMAGES_FILE, LABELS_FILE

if TYPE_CHECKING:
    from pathlib import Path


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


def read_card(folder: Path) -> Prepared | None:
    """The prepared set in a folder; none without a whole card and the arrays that it tells of."""
    try:
        card = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
        card["shape"] = tuple(card["shape"])
        prepared = Prepared(folder=folder, size_bytes=_size_bytes(folder), **card)
        return prepared if _has_arrays(prepared) else None
    except (OSError, ValueError, TypeError, KeyError, EOFError):
        return None


def _has_arrays(prepared: Prepared) -> bool:
    """Whether both arrays are there and as long as they say; nothing of them is read."""
    images = np.load(prepared.folder / IMAGES_FILE, mmap_mode="r", allow_pickle=False)
    labels = np.load(prepared.folder / LABELS_FILE, mmap_mode="r", allow_pickle=False)
    count = prepared.images
    return bool(images.shape == (count, *prepared.shape) and labels.shape == (count,))


def _size_bytes(folder: Path) -> int:
    """Without hidden files: a worker may be writing one and rename it at any moment."""
    return sum(file.stat().st_size for file in folder.iterdir() if not file.name.startswith("."))


def write_card(prepared: Prepared) -> None:
    """Write down what a folder holds."""
    card = asdict(prepared)
    del card["folder"], card["size_bytes"]
    write_whole(prepared.folder / CARD_FILE, json.dumps(card, indent=1) + "\n")
