"""What every format gives: a data set that was found, and its pictures once they are read."""

from __future__ import annotations

import gzip
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar

import numpy as np

from prumo.errors import DataError
from prumo.machine.cpu import read_cpu
from prumo.machine.machine import read_memory
from prumo_worker.data import CATALOG

if TYPE_CHECKING:
    from prumo.datasets.image import EncodedPictures

Pictures: TypeAlias = "ArrayPictures | EncodedPictures"
Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> Generator[Result]:
    """The results in the order of the items; each thread works at most two items ahead.

    By default there is one for each core that this process may use.
    """
    threads = threads or read_cpu().usable_cores
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


_BLOCK_PIXELS = 1 << 23
"""Of one thread, one after the other; what all threads hold is small."""
_CHUNK_PIXELS = 1 << 19
"""Of one product, so that its numbers stay in the processor's cache."""


def resized(images: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Square uint8 images of `size`, block by block, of images in the order NCHW.

    Enlarging mixes the nearest pixels linearly; shrinking first smooths, so that no detail turns
    into a pattern that is not there.
    """
    _, channels, height, width = images.shape
    if (height, width) == (size, size):
        yield images
        return
    rows = _mixture(height, size)
    columns = np.ascontiguousarray(_mixture(width, size).T)
    pixels = channels * max(height * width, size * size)
    block, chunk = (max(1, limit // pixels) for limit in (_BLOCK_PIXELS, _CHUNK_PIXELS))

    def resized_block(start: int) -> np.ndarray:
        part = images[start : start + block]
        result: np.ndarray = np.empty((len(part), channels, size, size), dtype=np.uint8)
        for first in range(0, len(part), chunk):
            mixed = rows @ (part[first : first + chunk].astype(np.float32) @ columns)
            mixed += np.float32(0.5)
            result[first : first + chunk] = mixed
        return result

    yield from in_threads(resized_block, range(0, len(images), block))


def _mixture(old: int, new: int) -> np.ndarray:
    """How much of each old pixel goes into each new one: a triangle around its centre."""
    reach = max(1.0, old / new)
    centres = (np.arange(new) + 0.5) * (old / new)
    distances = np.abs(np.arange(old) + 0.5 - centres[:, np.newaxis])
    weights = np.maximum(0.0, 1.0 - distances / reach)
    shares: np.ndarray = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return shares


@dataclass(frozen=True)
class Subset:
    """Which images of a data set are used: of one class or all, and the first of those."""

    images: int | None = None
    only_class: int | None = None

    def positions(self, labels: np.ndarray, place: object) -> np.ndarray:
        """Where the chosen images stand, in order; `place` is named when there are too few."""
        found: np.ndarray = np.arange(len(labels))
        if self.only_class is not None:
            found = np.flatnonzero(labels == self.only_class)
        of_class = "" if self.only_class is None else f" of class {self.only_class}"
        if not len(found):
            raise DataError(f"{place}: holds no images{of_class}")
        if self.images is not None and self.images > len(found):
            raise DataError(
                f"{place}: has {len(found)} images{of_class}, {self.images} were asked for"
            )
        return found[: self.images]


EVERYTHING = Subset()


@dataclass(frozen=True)
class Source(ABC):
    """A data set that was found and not read yet."""

    path: Path
    """What the user named."""
    kind: ClassVar[str]
    """The format, in words."""

    @property
    def class_names(self) -> Sequence[str]:
        """Empty where classes only have numbers."""
        return ()

    @abstractmethod
    def files(self, subset: Subset) -> Sequence[Path]:
        """The files that the images of a subset, and their labels, come from."""

    @abstractmethod
    def read(self) -> Pictures:
        """Read labels and whatever the pixels need; DataError says which file is wrong."""


@dataclass(frozen=True)
class ArrayPictures:
    """Images of one size that are an array already: uint8 in the order NCHW."""

    images: np.ndarray
    labels: np.ndarray
    """One class number for each image, as int64."""
    place: Path
    """What to name when the images do not fit."""

    def __post_init__(self) -> None:
        if len(self.images) != len(self.labels):
            raise DataError(
                f"{self.place}: {len(self.images)} images but {len(self.labels)} labels"
            )

    def channels(self, positions: np.ndarray, wanted: int | None) -> int:
        """Those of the array, which must be the wanted ones; others would be another data set."""
        del positions
        there = int(self.images.shape[1])
        if there != (wanted or there):
            raise DataError(
                f"{self.place}: its images have {there} channels where {wanted} are expected"
            )
        return there

    def blocks(self, positions: np.ndarray, channels: int, size: int) -> Iterator[np.ndarray]:
        """The images at ascending positions as uint8 NCHW, square, some at a time."""
        self.channels(positions, channels)
        everything = len(positions) == len(self.images)
        return resized(self.images if everything else self.images[positions], size)

    def shapes(self) -> Iterable[tuple[int, int, int]]:
        """Channels, height and width of every image: the same for all."""
        channels, height, width = self.images.shape[1:]
        return [(int(channels), int(height), int(width))] * len(self.images)

    def faults(self) -> Iterator[str]:
        """An array has no image that cannot be decoded."""
        return iter(())


_MOST_CLASSES = 1_000_000


def count_classes(
    labels: np.ndarray, class_names: Sequence[str], dataset: str, place: object
) -> int:
    """Those of a known data set or as many as are named; else as many as the labels say."""
    card = CATALOG.get(dataset)
    if card:
        classes = card.classes
    else:
        classes = len(class_names) or min(int(labels.max()) + 1, _MOST_CLASSES)
    if labels.min() < 0 or labels.max() >= classes:
        raise DataError(
            f"{place}: labels must be from 0 to {classes - 1}; "
            f"these are from {labels.min()} to {labels.max()}"
        )
    return classes


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Whatever a broken or absent file makes a reader raise, as an error that names the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{file}: is not whole: {error}") from error
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error


def require_memory(needed_bytes: int, place: object) -> None:
    """Refuse what does not fit; a few bytes of a file can announce any number of them."""
    available_bytes = read_memory().available_bytes
    if needed_bytes > available_bytes:
        raise DataError(
            f"{place}: announces {needed_bytes / 1e9:.1f} GB, more than the "
            f"{available_bytes / 1e9:.1f} GB of memory that are free"
        )
