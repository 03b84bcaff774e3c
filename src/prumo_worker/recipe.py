"""The recipe: how a network is trained, read from a run's parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prumo_worker.task import TaskError

OPTIMIZERS = ("sgd", "adam")
SCHEDULES = ("constant", "step", "cosine")
PRECISIONS = ("fp32", "bf16", "fp16")
DEVICES = ("cpu", "cuda", "tpu")


@dataclass(frozen=True)
class Recipe:
    """Every choice of one training, with the defaults for what a study leaves out."""

    framework: str
    """Its name, or its name and version as `pytorch@2.13.0`."""
    network: str
    dataset: str
    image_size: int | None = None
    """Height and width in pixels; none keeps the data set's own."""
    images: int | None = None
    """How many images of the data set to use; none means all."""
    only_class: int | None = None
    """The one class whose images are used; none means all."""
    batch_size: int = 128
    epochs: int = 1
    optimizer: str = "sgd"
    learning_rate: float = 0.01
    momentum: float = 0.9
    """Of `sgd`; `adam` keeps its usual 0.9 and 0.999."""
    weight_decay: float = 0.0
    schedule: str = "constant"
    """How the learning rate changes from epoch to epoch."""
    decay: float = 0.1
    """Of the schedule `step`: what the rate is multiplied with."""
    decay_epochs: int = 30
    """Of the schedule `step`: after how many epochs, again and again."""
    precision: str = "fp32"
    channels_last: bool = False
    device: str = "cpu"
    threads: int | None = None
    """Compute threads; none means those of the task."""
    seed: int = 1
    dropout: bool = True
    """Off in proofs of equality, because no two frameworks drop the same values."""

    def rate_in(self, epoch: int) -> float:
        """The learning rate of an epoch, counted from 1; a warm-up has that of the first."""
        if self.schedule == "step":
            return self.learning_rate * self.decay ** ((epoch - 1) // self.decay_epochs)
        if self.schedule == "cosine":
            return self.learning_rate * (1 + math.cos(math.pi * (epoch - 1) / self.epochs)) / 2
        return self.learning_rate


def read_recipe(parameters: Mapping[str, Any]) -> Recipe:
    """Check the parameters that training knows; a study may carry others of its own."""
    reader = ParameterReader(parameters)
    return Recipe(
        framework=reader.word("framework"),
        network=reader.word("network"),
        dataset=reader.word("dataset"),
        image_size=reader.optional_whole("image_size"),
        images=reader.optional_whole("images"),
        only_class=reader.optional_whole("only_class", least=0),
        batch_size=reader.whole("batch_size", Recipe.batch_size),
        epochs=reader.whole("epochs", Recipe.epochs),
        optimizer=reader.choice("optimizer", OPTIMIZERS, Recipe.optimizer),
        learning_rate=reader.number("learning_rate", Recipe.learning_rate),
        momentum=reader.number("momentum", Recipe.momentum),
        weight_decay=reader.number("weight_decay", Recipe.weight_decay),
        schedule=reader.choice("schedule", SCHEDULES, Recipe.schedule),
        decay=reader.number("decay", Recipe.decay),
        decay_epochs=reader.whole("decay_epochs", Recipe.decay_epochs),
        precision=reader.choice("precision", PRECISIONS, Recipe.precision),
        channels_last=reader.flag("channels_last", Recipe.channels_last),
        device=reader.choice("device", DEVICES, Recipe.device),
        threads=reader.optional_whole("threads"),
        seed=reader.whole("seed", Recipe.seed, least=0),
    )


class ParameterReader:
    """Takes parameters one by one and says which one is wrong."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._parameters = parameters

    def word(self, name: str) -> str:
        """A name, which must be given."""
        value = self._parameters.get(name)
        if not isinstance(value, str) or not value:
            raise self._wrong(name, "must be a name")
        return value

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """One of a few words."""
        value = self._parameters.get(name, default)
        if value not in choices:
            raise self._wrong(name, f"must be one of {', '.join(choices)}")
        return str(value)

    def whole(self, name: str, default: int | None = None, least: int = 1) -> int:
        """A whole number, which must be given where there is no default."""
        value = self._parameters.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._wrong(name, f"must be a whole number of {least} or more")
        return value

    def optional_whole(self, name: str, least: int = 1) -> int | None:
        """A whole number, or none."""
        return None if self._parameters.get(name) is None else self.whole(name, least=least)

    def number(self, name: str, default: float) -> float:
        """A finite number that is not negative."""
        value = self._parameters.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(name, "must be a number")
        if not math.isfinite(value) or value < 0:
            raise self._wrong(name, "must be a finite number of 0 or more")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._parameters.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "must be true or false")
        return value

    def _wrong(self, name: str, rule: str) -> TaskError:
        given = repr(self._parameters[name]) if name in self._parameters else "missing"
        return TaskError(f"{name}: {rule}; it is {given}")
