"""What a folder or file holds, and everything that is wrong with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.data.classes import count_classes
from prumo.data.formats import find_source
from prumo.data.source import EVERYTHING
from prumo.errors import DataError
from prumo_worker.data.catalog import CATALOG

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prumo.data.source import Pictures, Source


@dataclass(frozen=True)
class Examination:
    """A data set as it was found."""

    path: str
    kind: str
    images: int
    shapes: dict[str, int]
    """Shape as `channels x height x width` → how many images have it."""
    classes: dict[str, int]
    """Class, by name or number → how many images it has."""
    class_count: int
    """How many a network would tell apart, with those that have no image."""
    problems: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Everything, for programs."""
        return asdict(self)


def examine(path: Path, dataset: str = "") -> Examination:
    """Read all of a data set, decode every image, and count; only nothing to read is an error."""
    source = find_source(path, dataset)
    try:
        pictures = source.read()
    except DataError as error:
        return Examination(str(path), source.kind, 0, {}, {}, 0, (str(error),))
    classes = _classes(pictures.labels, source.class_names)
    shapes = Counter(f"{c} x {h} x {w}" for c, h, w in pictures.shapes())
    return Examination(
        path=str(path),
        kind=source.kind,
        images=len(pictures.labels),
        shapes=dict(shapes.most_common()),
        classes=classes,
        class_count=_class_count(pictures, source, dataset) or len(classes),
        problems=(*_misfits(pictures, source, dataset), *pictures.faults()),
    )


def _classes(labels: np.ndarray, names: Sequence[str]) -> dict[str, int]:
    numbers, counts = np.unique(labels, return_counts=True)
    return {
        names[number] if names else str(number): int(count)
        for number, count in zip(numbers, counts, strict=True)
    }


def _class_count(pictures: Pictures, source: Source, dataset: str) -> int | None:
    """As many as the prepared set would have; none where it cannot be prepared."""
    if not len(pictures.labels):
        return None
    try:
        return count_classes(pictures.labels, source.class_names, dataset, source.path)
    except DataError:
        return None


def _misfits(pictures: Pictures, source: Source, dataset: str) -> Iterator[str]:
    """Why these images could not be prepared under this name."""
    positions: np.ndarray = np.arange(len(pictures.labels))
    card = CATALOG.get(dataset)
    try:
        EVERYTHING.positions(pictures.labels, source.path)
        count_classes(pictures.labels, source.class_names, dataset, source.path)
        if card:
            pictures.channels(positions, card.channels)
    except DataError as error:
        yield str(error)
