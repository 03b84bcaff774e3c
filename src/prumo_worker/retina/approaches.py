"""What is trained: the network or its last layers, or a head on features computed once."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import keras
import numpy as np
import tensorflow as tf

from prumo_worker.retina.learner import Answers, Learner, classes_of
from prumo_worker.retina.network import (
    FeatureScale,
    copy_head,
    feature_network,
    feature_scale,
    head_network,
    scores_network,
    whole_network,
)
from prumo_worker.retina.photographs import Photographs, judged_batches, training_batches
from prumo_worker.retina.strategy import Placement, processor
from prumo_worker.task import DataError, TaskError

if TYPE_CHECKING:
    from prumo_worker.journal import Journal
    from prumo_worker.retina.backbones import Backbone
    from prumo_worker.retina.recipe import RetinaRecipe


class Approach(ABC):
    """How a network comes to its weights, once the photographs are chosen."""

    def __init__(self, recipe: RetinaRecipe, placement: Placement, backbone: Backbone) -> None:
        self.backbone = backbone
        self._recipe = recipe
        self._placement = placement

    @property
    @abstractmethod
    def parameters(self) -> int:
        """The numbers of the whole network."""

    def prepare(self, sets: Sequence[Photographs]) -> float:
        """Compute once what all trainings share, if anything; the seconds that it took."""
        del sets
        return 0.0

    @abstractmethod
    def learner(self, training: Photographs) -> Learner:
        """A new network, ready to be trained on these photographs."""

    @abstractmethod
    def batches(self, training: Photographs, epoch: int) -> Any:  # noqa: ANN401 (TensorFlow's own)
        """Inputs and classes of one epoch, in pairs."""

    @abstractmethod
    def scores(self, learner: Learner, photographs: Photographs) -> np.ndarray:
        """Of photographs that are only looked at, in their order."""

    @abstractmethod
    def whole_network(self, learner: Learner, training: Photographs) -> keras.Model:
        """From pixels to probabilities, with what was learnt from these photographs."""


class FineTuning(Approach):
    """One network; every training begins with the weights that it had at first."""

    def __init__(self, recipe: RetinaRecipe, placement: Placement, backbone: Backbone) -> None:
        super().__init__(recipe, placement, backbone)
        with placement.strategy.scope():
            self._network = whole_network(backbone, recipe)
        choose_trained_layers(backbone, recipe.trained_layers)
        self._first = self._network.get_weights()

    @property
    def parameters(self) -> int:
        """See `Approach`."""
        return int(self._network.count_params())

    def learner(self, training: Photographs) -> Learner:
        """See `Approach`."""
        count, batch_size = len(training.names), self._recipe.batch_size
        if self._placement.needs_whole_batches and count < batch_size:
            raise DataError(
                f"{count} training photographs do not fill a batch of {batch_size}, which "
                f"{self._placement.device} needs"
            )
        self._network.set_weights(self._first)
        network, spec = scores_network(self._network), self.batches(training, 0).element_spec
        return Learner(network, self._recipe, self._placement, training.grades, spec)

    def batches(self, training: Photographs, epoch: int) -> Any:  # noqa: ANN401 (TensorFlow's own)
        """See `Approach`."""
        whole_only = self._placement.needs_whole_batches
        batches = training_batches(training, self._recipe, epoch, whole_only=whole_only)
        return self._placement.distributed(batches)

    def scores(self, learner: Learner, photographs: Photographs) -> np.ndarray:
        """See `Approach`."""
        batches = judged_batches(photographs, self._recipe.batch_size)
        return learner.scores(self._placement.distributed(batches), len(photographs.names))

    def whole_network(self, learner: Learner, training: Photographs) -> keras.Model:
        """The learner's layers are this network's own."""
        del learner, training
        return self._network


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


_DIGITS = 16


class FeatureStore:
    """Features by the hash of the photograph, in one file for each backbone; or in memory only."""

    def __init__(self, folder: str | None, key: str) -> None:
        self._path = Path(folder) / f"{key}.npz" if folder else None
        self._rows: dict[str, np.ndarray] = {}
        # A damaged file counts as none.
        with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile):
            if self._path:
                with np.load(self._path, allow_pickle=False) as kept:
                    self._rows = dict(zip(kept["digests"].tolist(), kept["features"]))

    def lacks(self, digests: Sequence[str]) -> bool:
        """Whether any of these must be computed."""
        return not self._rows.keys() >= set(digests)

    def add(self, digests: Sequence[str], features: np.ndarray) -> None:
        """Keep the features of these photographs too; on disk they are whole or as before."""
        self._rows.update(zip(digests, features))
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            beside = self._path.with_name(f".{os.getpid()}.{self._path.name}")
            rows = np.stack(list(self._rows.values()))
            np.savez(beside, digests=np.array(list(self._rows)), features=rows)
            beside.replace(self._path)

    def features(self, digests: Sequence[str]) -> np.ndarray:
        """One row of float32 for each photograph."""
        return np.stack([self._rows[digest] for digest in digests])


def feature_key(backbone: Backbone, recipe: RetinaRecipe) -> str:
    """Changes with whatever changes features: network, weights, pixels' scale, size, precision."""
    digest = sha256()
    for array in backbone.network.get_weights():
        digest.update(np.ascontiguousarray(array).tobytes())
    how = backbone.normalization
    facts = [recipe.image_size, recipe.precision, how.offset, how.scale, how.channels]
    digest.update(json.dumps(facts).encode())
    return f"{recipe.network}-{recipe.image_size}-{digest.hexdigest()[:_DIGITS]}"


AS_IT_IS, MIRRORED = "", "-mirrored"
_VIEW_WORDS = {AS_IT_IS: "as they are", MIRRORED: "mirrored"}
# Sums in another order differ in the last digits; in half precision by more.
_TOLERANCE = 1e-3


class FrozenBackbone(Approach):
    """Features come from all devices; the head is small, and trained on all of them at once.

    Chance cannot change photographs that are seen once. What stands for it is the mirrored
    photograph, as a left eye mirrored is a right one.
    """

    def __init__(
        self,
        recipe: RetinaRecipe,
        placement: Placement,
        backbone: Backbone,
        folder: str | None,
        journal: Journal,
    ) -> None:
        if backbone.weights == "scratch":
            raise TaskError("frozen: a backbone without weights has nothing to tell; train it")
        super().__init__(recipe, placement, backbone)
        self._journal = journal
        self._views = (AS_IT_IS, MIRRORED) if recipe.augment else (AS_IT_IS,)
        key = feature_key(backbone, recipe)
        self._stores = {view: FeatureStore(folder, f"{key}{view}") for view in self._views}
        with placement.strategy.scope():
            self._answers = Answers(feature_network(backbone, recipe), placement)
        self._processor = processor()
        self._tensors: dict[tuple[str, ...], tf.Tensor] = {}

    @property
    def parameters(self) -> int:
        """See `Approach`."""
        return int(whole_network(self.backbone, self._recipe).count_params())

    def prepare(self, sets: Sequence[Photographs]) -> float:
        """Compute the features that no earlier training has left, and say how many those were."""
        began = perf_counter()
        missing = [
            (view, photographs)
            for view in self._views
            for photographs in sets
            if self._stores[view].lacks(photographs.digests)
        ]
        total = sum(len(photographs.names) for _, photographs in missing)
        done = 0
        for view, photographs in missing:
            parts = []
            for part in self._answers.each(self._batches(photographs, view)):
                # NumPy files know nothing of bfloat16.
                parts.append(part.astype(np.float32))
                done = min(done + len(part), total)
                self._journal.event("features", computed=done, to_compute=total)
            self._stores[view].add(photographs.digests, np.concatenate(parts))
        seconds = perf_counter() - began if total else 0.0
        self._journal.event(
            "features",
            computed=total,
            to_compute=total,
            seconds=seconds,
            photographs=len({name for _, photographs in missing for name in photographs.names}),
            views=[_VIEW_WORDS[view] for view in self._views if view in dict(missing)],
        )
        return seconds

    def learner(self, training: Photographs) -> Learner:
        """See `Approach`."""
        scale = self._scale(training)
        with self._processor.strategy.scope():
            network = head_network(len(scale.mean), self._recipe, scale)
        return Learner(network, self._recipe, self._processor, training.grades)

    def batches(self, training: Photographs, epoch: int) -> Any:  # noqa: ANN401 (TensorFlow's own)
        """All at once, so that every epoch is a step straight towards the least loss."""
        del epoch
        classes = np.tile(classes_of(training.grades, self._recipe.task), len(self._views))
        return [(self._tensor(training, self._views), tf.constant(classes))]

    def scores(self, learner: Learner, photographs: Photographs) -> np.ndarray:
        """See `Approach`."""
        features = self._tensor(photographs, (AS_IT_IS,))
        return learner.scores([features], len(photographs.names))

    def whole_network(self, learner: Learner, training: Photographs) -> keras.Model:
        """Backbone and head together, after a look whether they say the same as apart."""
        network = whole_network(self.backbone, self._recipe, self._scale(training))
        copy_head(learner.network, network)
        self._compare(learner, network, training)
        return network

    def _compare(self, learner: Learner, network: keras.Model, photographs: Photographs) -> None:
        pixels = next(iter(judged_batches(photographs, self._recipe.batch_size)))
        apart = self.scores(learner, photographs)[: self._recipe.batch_size]
        together = scores_network(network)(pixels, training=False).numpy()[: len(apart)]
        if not np.allclose(together, apart, rtol=_TOLERANCE, atol=_TOLERANCE):
            raise ArithmeticError(
                "the whole network gives other scores than its head on the kept features: "
                f"{np.abs(together - apart).max():g} apart; remove the folder of features and "
                "train again"
            )

    def _scale(self, training: Photographs) -> FeatureScale:
        return feature_scale(self._tensor(training, self._views).numpy())

    def _batches(self, photographs: Photographs, view: str) -> Any:  # noqa: ANN401 (TensorFlow's own)
        batches = judged_batches(photographs, self._recipe.batch_size)
        if view == MIRRORED:
            batches = batches.map(tf.image.flip_left_right)
        return self._placement.distributed(batches)

    def _tensor(self, photographs: Photographs, views: tuple[str, ...]) -> tf.Tensor:
        """The features of a set in these views, made once: every epoch asks for them."""
        key = (*views, *photographs.digests)
        if key not in self._tensors:
            parts = [self._stores[view].features(photographs.digests) for view in views]
            self._tensors[key] = tf.constant(np.concatenate(parts))
        return self._tensors[key]
