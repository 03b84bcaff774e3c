"""A trainer asked directly, in the real environment of its framework.

Run as a script it is the other half of itself: it loads what `ask` saved and answers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo_worker.data.dataset import arranged
from prumo_worker.frameworks import open_trainer
from prumo_worker.networks.weights import initial_weights
from prumo_worker.recipe import Recipe
from prumo_worker.task import Unavailable
from support.framework_process import arguments, run_script, tell
from support.small_networks import CLASSES, SHAPE, small_network

if TYPE_CHECKING:
    from pathlib import Path

IMAGES = 8
SEED = 7


@dataclass(frozen=True)
class Case:
    """A small network and a few steps on the same batch, with these settings of the recipe."""

    network: str
    steps: int = 2
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What came out of a case, or why it was refused."""

    refused: str = ""
    parameters: int = 0
    before: list[list[float]] = field(default_factory=list)
    """Scores in inference mode before any step."""
    losses: list[float] = field(default_factory=list)
    right: int = 0
    after: list[list[float]] = field(default_factory=list)
    """Scores in inference mode after all steps."""


def pictures() -> tuple[np.ndarray, np.ndarray]:
    """The batch that every trainer is asked with: pixels from -1 to 1."""
    generator = np.random.default_rng(3)
    images: np.ndarray = generator.uniform(-1, 1, size=(IMAGES, *SHAPE)).astype(np.float32)
    return images, np.arange(IMAGES, dtype=np.int64) % CLASSES


def ask(python: Path, framework: str, cases: dict[str, Case]) -> dict[str, Answer]:
    """The answers to all cases, from one process of the framework's environment."""
    question = {name: asdict(case) for name, case in cases.items()}
    answers = run_script(python, __file__, framework, question)
    return {name: Answer(**answer) for name, answer in answers.items()}


def _answer(framework: str, case: Case) -> Answer:
    net = small_network(case.network)
    settings = {"framework": framework, **case.settings}
    recipe = Recipe(network="small", dataset="generated", batch_size=IMAGES, **settings)
    try:
        trainer = open_trainer(net, recipe, 1)
    except Unavailable as reason:
        return Answer(refused=str(reason))
    trainer.load(initial_weights(net, SEED))
    images, labels = pictures()
    images = arranged(images, trainer.layout)
    before = trainer.scores(images).tolist()
    batch = trainer.batch(images, labels)
    outcomes = []
    for step in range(case.steps):
        if recipe.schedule != "constant":
            trainer.set_learning_rate(recipe.rate_in(step + 1))
        outcomes.append(trainer.step(batch))
    losses, right = trainer.fetch(outcomes)
    after = trainer.scores(images).tolist()
    return Answer("", trainer.parameters, before, losses, right, after)


def _main(framework: str, question: dict[str, Any]) -> None:
    cases = {name: Case(**case) for name, case in question.items()}
    tell({name: asdict(_answer(framework, case)) for name, case in cases.items()})


if __name__ == "__main__":
    _main(*arguments())
