"""The recipe: how a network is trained, read from a run's parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from prumo_worker.task import TaskError

OPTIMIZERS = ("sgd", "adam")
SCHEDULES = ("constant", "step", "cosine")
PRECISIONS = ("fp32", "bf16", "fp16")
DEVICES = ("cpu", "cuda", "tpu")


T = TypeVar("T")


def one_of(choices: tuple[str, ...], default: str) -> Any:  # noqa: ANN401 (as `field` is typed)
    """A field with one of a few words."""
    return field(default=default, metadata={"choices": choices})


def at_least(least: int, default: int | None) -> Any:  # noqa: ANN401 (as `field` is typed)
    """A field with a whole number that need not be 1 or more, as others must."""
    return field(default=default, metadata={"least": least})


def read_parameters(kind: type[T], parameters: Mapping[str, Any], **given: object) -> T:
    """A dataclass of parameters, each checked by its field's type; `given` are no parameters.

    A study may carry others of its own.
    """
    values = dict(given)
    for one in fields(kind):  # type: ignore[arg-type]  # no type says dataclass
        if one.name in given:
            continue
        value = parameters.get(one.name, one.default)
        if rule := _broken_rule(one, value):
            shown = repr(value) if one.name in parameters else "missing"
            raise TaskError(f"{one.name}: {rule}; it is {shown}")
        values[one.name] = float(value) if one.type == "float" else value
    return kind(**values)


def _broken_rule(one: Field[Any], value: Any) -> str:  # noqa: ANN401 (any JSON value)
    """What the value of a field should be and is not; empty for a good one."""
    choices, least = one.metadata.get("choices"), one.metadata.get("least", 1)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    is_whole = is_number and isinstance(value, int)
    if choices:
        return "" if value in choices else f"must be one of {', '.join(choices)}"
    if one.type == "str":
        return "" if isinstance(value, str) and value else "must be a name"
    if one.type == "bool":
        return "" if isinstance(value, bool) else "must be true or false"
    if one.type == "float":
        is_good = is_number and math.isfinite(value) and value >= 0
        rule = "must be a finite number of 0 or more" if is_number else "must be a number"
        return "" if is_good else rule
    is_absent = value is None and one.type == "int | None"
    is_good = is_absent or (is_whole and value >= least)
    return "" if is_good else f"must be a whole number of {least} or more"


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
    only_class: int | None = at_least(0, default=None)
    """The one class whose images are used; none means all."""
    batch_size: int = 128
    epochs: int = 1
    optimizer: str = one_of(OPTIMIZERS, "sgd")
    learning_rate: float = 0.01
    momentum: float = 0.9
    """Of `sgd`; `adam` keeps its usual 0.9 and 0.999."""
    weight_decay: float = 0.0
    schedule: str = one_of(SCHEDULES, "constant")
    """How the learning rate changes from epoch to epoch."""
    decay: float = 0.1
    """Of the schedule `step`: what the rate is multiplied with."""
    decay_epochs: int = 30
    """Of the schedule `step`: after how many epochs, again and again."""
    precision: str = one_of(PRECISIONS, "fp32")
    channels_last: bool = False
    device: str = one_of(DEVICES, "cpu")
    threads: int | None = None
    """Compute threads; none means those of the task."""
    seed: int = at_least(0, default=1)
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
    """Check the parameters that training knows."""
    return read_parameters(Recipe, parameters, dropout=True)
