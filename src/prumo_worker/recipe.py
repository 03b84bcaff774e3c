"""The recipe: how a network is trained, read from a run's parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prumo_worker.failure import TaskError

if TYPE_CHECKING:
    from collections.abc import Mapping

OPTIMIZERS = ("sgd", "adam")
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
    batch_size: int = 128
    epochs: int = 1
    optimizer: str = "sgd"
    learning_rate: float = 0.01
    momentum: float = 0.9
    """Of `sgd`; `adam` keeps its usual 0.9 and 0.999."""
    weight_decay: float = 0.0
    precision: str = "fp32"
    channels_last: bool = False
    device: str = "cpu"
    threads: int | None = None
    """Compute threads; none means those of the task."""
    seed: int = 1


def read_recipe(parameters: Mapping[str, Any]) -> Recipe:
    """Check the parameters that training knows; a study may carry others of its own."""
    reader = _Reader(parameters)
    return Recipe(
        framework=reader.word("framework"),
        network=reader.word("network"),
        dataset=reader.word("dataset"),
        image_size=reader.optional_whole("image_size"),
        images=reader.optional_whole("images"),
        batch_size=reader.whole("batch_size", Recipe.batch_size),
        epochs=reader.whole("epochs", Recipe.epochs),
        optimizer=reader.choice("optimizer", OPTIMIZERS, Recipe.optimizer),
        learning_rate=reader.number("learning_rate", Recipe.learning_rate),
        momentum=reader.number("momentum", Recipe.momentum),
        weight_decay=reader.number("weight_decay", Recipe.weight_decay),
        precision=reader.choice("precision", PRECISIONS, Recipe.precision),
        channels_last=reader.flag("channels_last", Recipe.channels_last),
        device=reader.choice("device", DEVICES, Recipe.device),
        threads=reader.optional_whole("threads"),
        seed=reader.whole("seed", Recipe.seed, least=0),
    )


class _Reader:
    """Takes parameters one by one and says which one is wrong."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._parameters = parameters

    def word(self, name: str) -> str:
        value = self._parameters.get(name)
        if not isinstance(value, str) or not value:
            raise self._wrong(name, "must be a name")
        return value

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = self._parameters.get(name, default)
        if value not in choices:
            raise self._wrong(name, f"must be one of {', '.join(choices)}")
        return str(value)

    def whole(self, name: str, default: int, least: int = 1) -> int:
        value = self._parameters.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._wrong(name, f"must be a whole number of {least} or more")
        return value

    def optional_whole(self, name: str) -> int | None:
        return None if self._parameters.get(name) is None else self.whole(name, 1)

    def number(self, name: str, default: float) -> float:
        value = self._parameters.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(name, "must be a number")
        if not math.isfinite(value) or value < 0:
            raise self._wrong(name, "must be a finite number of 0 or more")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self._parameters.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "must be true or false")
        return value

    def _wrong(self, name: str, rule: str) -> TaskError:
        given = repr(self._parameters[name]) if name in self._parameters else "missing"
        return TaskError(f"{name}: {rule}; it is {given}")
