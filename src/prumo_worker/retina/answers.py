"""What a network answers to many inputs, computed on all devices of a placement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from prumo_worker.frameworks.tensorflow.memory import memory_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import keras

    from prumo_worker.retina.strategy import Placement


class Answers:
    """A network in inference mode: nothing is updated, and nothing is left to chance."""

    def __init__(self, network: keras.Model, placement: Placement) -> None:
        self._network = network
        self._strategy = placement.strategy
        self._answer = tf.function(self._on_all)

    @memory_errors()
    def to(self, batches: Iterable[Any], count: int) -> np.ndarray:
        """The first so many answers, in the order of the inputs."""
        return np.concatenate(list(self.each(batches)))[:count]

    def each(self, batches: Iterable[Any]) -> Iterator[np.ndarray]:
        """The answers to one batch after the other."""
        for batch in batches:
            parts = self._strategy.experimental_local_results(self._answer(batch))
            yield np.concatenate([part.numpy() for part in parts])

    def _on_all(self, inputs: Any) -> Any:  # noqa: ANN401 (one tensor, or one for each device)
        return self._strategy.run(lambda part: self._network(part, training=False), args=(inputs,))
