"""The recipe of a retina model, read from a task's parameters; the controller has the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prumo_worker.recipe import DEVICES, PRECISIONS, at_least, one_of, read_parameters
from prumo_worker.task import TaskError

TASKS = ("referral", "grade")
STRATEGIES = ("auto", "one", "mirrored", "tpu")
OPTIMIZERS = ("adam", "sgd", "rmsprop")
LINEAR_HEAD = "linear"
_RATE, _TUNING_RATE = 1e-3, 1e-4
# Ours: of 30, 100, 300 and 1000 the least loss out of fold on 423 real photographs, both tasks.
_LINEAR_DECAY = 100.0


@dataclass(frozen=True)
class RetinaRecipe:
    """Every choice of one training."""

    network: str
    head: str
    """`linear`, or the widths of hidden layers as `128+128`."""
    image_size: int
    batch_size: int
    """Photographs per step over all devices; the head of a frozen backbone takes all at once."""
    epochs: int
    learning_rate: float
    weight_decay: float
    """Half of it times the squared weights of the dense layers is added to the sum of losses."""
    task: str = one_of(TASKS, "")
    frozen: bool = False
    trained_layers: int = at_least(0, default=0)
    """How many of the backbone's last layers are fine-tuned; 0 means all."""
    augment: bool = False
    class_weights: bool = False
    images: int = at_least(2, default=256)
    """How many are generated where there are no records."""
    patience: int = at_least(0, default=0)
    """Epochs without a better validation loss until the training stops; 0 means never."""
    optimizer: str = one_of(OPTIMIZERS, "adam")
    reduce_epochs: int = at_least(0, default=0)
    """Epochs without a better loss until the learning rate falls; 0 means never."""
    precision: str = one_of(PRECISIONS, "fp32")
    device: str = one_of(DEVICES, "cpu")
    strategy: str = one_of(STRATEGIES, "auto")
    seed: int = at_least(0, default=1)

    @property
    def outputs(self) -> int:
        """One score for a referral, or one for each grade."""
        return 1 if self.task == "referral" else 5

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the head's hidden layers; none in a linear one."""
        if self.head == LINEAR_HEAD:
            return ()
        try:
            widths = tuple(int(word) for word in self.head.split("+"))
        except ValueError:
            widths = (0,)
        if min(widths) < 1:
            raise TaskError(f"head: {self.head!r} is neither {LINEAR_HEAD} nor widths as 128+128")
        return widths


def read_retina_recipe(parameters: Mapping[str, Any], *, pretrained: bool) -> RetinaRecipe:
    """Check the parameters; rate and decay depend on what is trained where they are not given."""
    frozen = parameters.get("frozen") is True
    is_linear = frozen and parameters.get("head") == LINEAR_HEAD
    defaults = {
        "learning_rate": _TUNING_RATE if pretrained and not frozen else _RATE,
        "weight_decay": _LINEAR_DECAY if is_linear else 0.0,
    }
    return read_parameters(RetinaRecipe, {**defaults, **parameters})


GRADE_COUNT = 5
REFERABLE_FROM = 2
"""Moderate retinopathy and worse is sent to a specialist."""
