"""Batches in an order that depends on the seed and the epoch alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_worker.data.dataset import Dataset

Batch = tuple[np.ndarray, np.ndarray]
"""Images as float32 from -1 to 1 and labels as int64."""

_SCALE = np.float32(1 / 127.5)


class Feed:
    """Gives every image once per epoch, the last batch with what remains.

    The images are arranged once in the layout that the framework takes, before any clock runs.
    """

    def __init__(self, dataset: Dataset, batch_size: int, seed: int, layout: str = "NCHW") -> None:
        self.batch_size = batch_size
        self._seed = seed
        self._images = dataset.arranged(layout)
        self._labels = dataset.labels

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of one epoch, converted one at a time: the images stay bytes in memory."""
        order = self._order(number)
        for start in range(0, len(order), self.batch_size):
            yield self._batch(order[start : start + self.batch_size])

    def warm_up(self, steps: int) -> Iterator[Batch]:
        """Batches for a rehearsal: whole ones, and at last one of the epoch's last size.

        A framework that compiles for a batch size has then met every size it will be timed with;
        where there are two sizes, that takes two steps at least.
        """
        order = self._order(0)
        whole = min(self.batch_size, len(order))
        last = [len(order) % whole] if len(order) % whole else []
        for size in [*[whole] * max(1, steps - len(last)), *last]:
            yield self._batch(order[:size])

    def _order(self, epoch: int) -> np.ndarray:
        stream = np.random.SeedSequence(self._seed, spawn_key=(epoch,))
        generator = np.random.Generator(np.random.PCG64(stream))
        order: np.ndarray = generator.permutation(len(self._labels))
        return order

    def _batch(self, chosen: np.ndarray) -> Batch:
        images = np.multiply(self._images[chosen], _SCALE, dtype=np.float32)
        images -= 1
        return images, self._labels[chosen]
