"""Images that are JPEG or PNG files, or lie as such in a larger file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from prumo.data.picture import decoded, picture_shape
from prumo.data.threads import in_threads
from prumo.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_BLOCK_IMAGES = 256


class Encoded(Protocol):
    """Finds encoded images wherever they lie."""

    def __call__(self, positions: Sequence[int]) -> Iterable[tuple[str, Callable[[], bytes]]]:
        """The images at ascending positions: a name for people, and what reads the content."""


@dataclass(frozen=True)
class EncodedPictures:
    """Images of any size and mode, decoded when they are asked for."""

    labels: np.ndarray
    encoded: Encoded
    other_faults: tuple[str, ...] = ()
    """What is wrong beside single images."""

    def channels(self, positions: np.ndarray, wanted: int | None) -> int:
        """Whatever is wanted; else one if every image is grey, and three if a single one is not."""
        if wanted:
            return wanted
        shapes = (picture_shape(read(), name) for name, read in self._encoded(positions))
        return max(channels for channels, _, _ in shapes)

    def blocks(self, positions: np.ndarray, channels: int, size: int) -> Iterator[np.ndarray]:
        """Decoded and resized on all cores, in their order."""

        def pixels(item: tuple[str, Callable[[], bytes]]) -> np.ndarray:
            name, read = item
            return decoded(read(), name, channels, size)

        images = in_threads(pixels, self._encoded(positions))
        while block := list(islice(images, _BLOCK_IMAGES)):
            yield np.stack(block)

    def shapes(self) -> Iterator[tuple[int, int, int]]:
        """By the header of every image that has one."""
        for name, read in self._encoded(np.arange(len(self.labels))):
            try:
                yield picture_shape(read(), name)
            except DataError:
                continue

    def faults(self) -> Iterator[str]:
        """Read and decode every image, and tell what is wrong with those that cannot be."""

        def fault(item: tuple[str, Callable[[], bytes]]) -> str:
            name, read = item
            try:
                decoded(read(), name, channels=3, size=8)
            except DataError as error:
                return str(error)
            return ""

        everything = self._encoded(np.arange(len(self.labels)))
        return chain(self.other_faults, filter(None, in_threads(fault, everything)))

    def _encoded(self, positions: np.ndarray) -> Iterable[tuple[str, Callable[[], bytes]]]:
        return self.encoded([int(position) for position in positions])
