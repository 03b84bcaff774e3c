"""The two ways to a model behind one interface: fine-tune the network, or train a head only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import keras
    import numpy as np

    from prumo_worker.retina.backbones import Backbone
    from prumo_worker.retina.learner import Learner
    from prumo_worker.retina.photographs import Photographs


class Approach(Protocol):
    """How a network comes to its weights, once the photographs are chosen."""

    backbone: Backbone

    @property
    def parameters(self) -> int:
        """The numbers of the whole network."""

    def prepare(self, sets: Sequence[Photographs]) -> float:
        """Compute once what all trainings share; the seconds that it took."""

    def learner(self, training: Photographs) -> Learner:
        """A new network, ready to be trained on these photographs."""

    def batches(self, training: Photographs, epoch: int) -> Iterable[tuple[Any, Any]]:
        """Inputs and classes of one epoch."""

    def scores(self, learner: Learner, photographs: Photographs) -> np.ndarray:
        """Of photographs that are only looked at, in their order."""

    def whole_network(self, learner: Learner, training: Photographs) -> keras.Model:
        """From pixels to probabilities, with what was learnt from these photographs."""
