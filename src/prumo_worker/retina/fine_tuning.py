"""Training of the whole network, or of its last layers, on the photographs themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras

from prumo_worker.failure import DataError
from prumo_worker.retina.learner import Learner
from prumo_worker.retina.network import scores_network, whole_network
from prumo_worker.retina.photographs import judged_batches, training_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from prumo_worker.retina.backbones import Backbone
    from prumo_worker.retina.photographs import Photographs
    from prumo_worker.retina.recipe import RetinaRecipe
    from prumo_worker.retina.strategy import Placement


class FineTuning:
    """One network; every training begins with the weights that it had at first."""

    def __init__(self, recipe: RetinaRecipe, placement: Placement, backbone: Backbone) -> None:
        self.backbone = backbone
        self._recipe = recipe
        self._placement = placement
        with placement.strategy.scope():
            self._network = whole_network(backbone, recipe)
        choose_trained_layers(backbone, recipe.trained_layers)
        self._first = self._network.get_weights()

    @property
    def parameters(self) -> int:
        """See `Approach`."""
        return int(self._network.count_params())

    def prepare(self, sets: Sequence[Photographs]) -> float:
        """Nothing is shared: each training sees the photographs anew."""
        del sets
        return 0.0

    def learner(self, training: Photographs) -> Learner:
        """See `Approach`."""
        count, batch_size = len(training.names), self._recipe.batch_size
        if self._placement.needs_whole_batches and count < batch_size:
            raise DataError(
                f"{count} training photographs do not fill a batch of {batch_size}, which "
                f"{self._placement.device} needs"
            )
        self._network.set_weights(self._first)
        return Learner(
            scores_network(self._network),
            self._recipe,
            self._placement,
            training.grades,
            self._batches(training, epoch=0).element_spec,
        )

    def batches(self, training: Photographs, epoch: int) -> Iterable[tuple[Any, Any]]:
        """See `Approach`."""
        batches: Iterable[tuple[Any, Any]] = self._batches(training, epoch)
        return batches

    def scores(self, learner: Learner, photographs: Photographs) -> np.ndarray:
        """See `Approach`."""
        batches = judged_batches(photographs, self._recipe.batch_size)
        return learner.scores(self._placement.distributed(batches), len(photographs.names))

    def whole_network(self, learner: Learner, training: Photographs) -> keras.Model:
        """The learner's layers are this network's own."""
        del learner, training
        return self._network

    def _batches(self, training: Photographs, epoch: int) -> Any:  # noqa: ANN401 (TensorFlow's own)
        whole_only = self._placement.needs_whole_batches
        batches = training_batches(training, self._recipe, epoch, whole_only=whole_only)
        return self._placement.distributed(batches)


def choose_trained_layers(backbone: Backbone, count: int) -> None:
    """Let the last so many layers be trained, or all for 0.

    Batch normalization that was trained elsewhere keeps its statistics and stays as it is: those of
    a batch of 8 are too rough. In a network from scratch it has to learn its own.
    """
    layers = backbone.network.layers
    for place, layer in enumerate(layers):
        is_late = not count or place >= len(layers) - count
        is_kept = (
            isinstance(layer, keras.layers.BatchNormalization) and backbone.weights != "scratch"
        )
        layer.trainable = is_late and not is_kept
