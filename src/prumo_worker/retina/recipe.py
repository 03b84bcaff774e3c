"""The recipe of a retina model, read from a task's parameters; the controller has the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prumo_worker.recipe import DEVICES, PRECISIONS, ParameterReader
from prumo_worker.task import TaskError

TASKS = ("referral", "grade")
STRATEGIES = ("auto", "one", "mirrored", "tpu")
OPTIMIZERS = ("adam", "sgd", "rmsprop")
LINEAR_HEAD = "linear"
_GENERATED_IMAGES = 256
_RATE, _TUNING_RATE = 1e-3, 1e-4
# Ours: of 30, 100, 300 and 1000 the least loss out of fold on 423 real photographs, both tasks.
_LINEAR_DECAY = 100.0


@dataclass(frozen=True)
class RetinaRecipe:
    """Every choice of one training."""

    network: str
    task: str
    head: str
    """`linear`, or the widths of hidden layers as `128+128`."""
    frozen: bool
    trained_layers: int
    """How many of the backbone's last layers are fine-tuned; 0 means all."""
    augment: bool
    class_weights: bool
    image_size: int
    images: int
    """How many are generated where there are no records."""
    batch_size: int
    """Photographs per step over all devices; the head of a frozen backbone takes all at once."""
    epochs: int
    patience: int
    """Epochs without a better validation loss until the training stops; 0 means never."""
    optimizer: str
    learning_rate: float
    weight_decay: float
    """Half of it times the squared weights of the dense layers is added to the sum of losses."""
    reduce_epochs: int
    """Epochs without a better loss until the learning rate falls; 0 means never."""
    precision: str
    device: str
    strategy: str
    seed: int

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
    """Check the parameters one by one; a study may carry others of its own."""
    reader = ParameterReader(parameters)
    frozen = reader.flag("frozen", default=False)
    head = reader.word("head")
    is_tuned = pretrained and not frozen
    return RetinaRecipe(
        network=reader.word("network"),
        task=reader.choice("task", TASKS, ""),
        head=head,
        frozen=frozen,
        trained_layers=reader.whole("trained_layers", 0, least=0),
        augment=reader.flag("augment", default=False),
        class_weights=reader.flag("class_weights", default=False),
        image_size=reader.whole("image_size"),
        images=reader.whole("images", _GENERATED_IMAGES, least=2),
        batch_size=reader.whole("batch_size"),
        epochs=reader.whole("epochs"),
        patience=reader.whole("patience", 0, least=0),
        optimizer=reader.choice("optimizer", OPTIMIZERS, "adam"),
        learning_rate=reader.number("learning_rate", _TUNING_RATE if is_tuned else _RATE),
        weight_decay=reader.number(
            "weight_decay", _LINEAR_DECAY if frozen and head == LINEAR_HEAD else 0.0
        ),
        reduce_epochs=reader.whole("reduce_epochs", 0, least=0),
        precision=reader.choice("precision", PRECISIONS, "fp32"),
        device=reader.choice("device", DEVICES, "cpu"),
        strategy=reader.choice("strategy", STRATEGIES, "auto"),
        seed=reader.whole("seed", 1, least=0),
    )


GRADE_COUNT = 5
REFERABLE_FROM = 2
"""Moderate retinopathy and worse is sent to a specialist."""
