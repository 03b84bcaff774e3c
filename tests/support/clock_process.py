"""A trainer's clock beside the clock of whoever waits for it, in the environment of its framework.

Run as a script: it trains a network for a few passes in the way of the training loop, and looks how
long the outcomes take to come after the spans have been told.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from prumo_worker.data.dataset import Feed, open_dataset
from prumo_worker.frameworks import Trainer, open_trainer
from prumo_worker.networks.layer import Convolution, Dense, GlobalAveragePooling, Rectifier
from prumo_worker.networks.network import Layer, assemble
from prumo_worker.networks.weights import initial_weights
from prumo_worker.recipe import Recipe
from support.device_trainer_process import device_trainer
from support.framework_process import arguments, run_script, tell

if TYPE_CHECKING:
    from pathlib import Path

IMAGES, IMAGE_SIZE, BATCH_SIZE, PASSES = 128, 128, 64, 4
# Large images in, so that copying takes a while, and enough to do with them.
LAYERS = [
    Layer("conv", Convolution(32, 5, stride=2)),
    Layer("act", Rectifier()),
    Layer("mean", GlobalAveragePooling()),
    Layer("scores", Dense(10)),
]


@dataclass(frozen=True)
class TimedPass:
    """What a trainer said of a pass, and what an observer saw."""

    spans_seconds: float
    """The sum of what lies between the trainer's marks."""
    observed_seconds: float
    """From before the first mark until the spans were told."""
    left_seconds: float
    """How long the outcomes took to come after that."""


def time_passes(python: Path, framework: str, *, as_on_a_device: bool) -> list[TimedPass]:
    """Some passes over the same images, after one in which everything is compiled."""
    passes = run_script(python, __file__, framework, as_on_a_device)
    return [TimedPass(**timed) for timed in passes]


def _timed_pass(trainer: Trainer, feed: Feed) -> TimedPass:
    began = perf_counter()
    marks, outcomes = [trainer.mark()], []
    for images, labels in feed.epoch(1):
        batch = trainer.batch(_unaligned(images), labels)
        marks.append(trainer.mark())
        outcomes.append(trainer.step(batch))
        marks.append(trainer.mark())
    spans = trainer.spans(marks)
    told = perf_counter()
    trainer.fetch(outcomes)
    return TimedPass(sum(spans), told - began, perf_counter() - told)


def _unaligned(images: np.ndarray) -> np.ndarray:
    """The same images one float behind where vectors begin.

    What lies well, a framework may take as it is; else it copies, and some do so in the background.
    """
    memory = np.empty(images.nbytes + 64, np.uint8)
    begin = -memory.ctypes.data % 64 + images.itemsize
    copied: np.ndarray = memory[begin : begin + images.nbytes].view(images.dtype)
    copied = copied.reshape(images.shape)
    copied[...] = images
    return copied


def _main(framework: str, as_on_a_device: bool) -> None:
    net = assemble("large", (3, IMAGE_SIZE, IMAGE_SIZE), LAYERS)
    recipe = Recipe(framework, "large", "generated", batch_size=BATCH_SIZE)
    if as_on_a_device:
        trainer = device_trainer(framework, net, recipe)
    else:
        trainer = open_trainer(net, recipe, 1)
    trainer.load(initial_weights(net, 1))
    dataset = open_dataset("generated", image_size=IMAGE_SIZE, images=IMAGES, seed=1, path=None)
    feed = Feed(dataset, BATCH_SIZE, 1, trainer.layout)
    _, *passes = [_timed_pass(trainer, feed) for _ in range(1 + PASSES)]
    tell([asdict(timed) for timed in passes])


if __name__ == "__main__":
    _main(*arguments())
