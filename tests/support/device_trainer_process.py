"""A trainer that is made for a device, put on the processor in the environment of its framework.

Run as a script: it trains a small network through the clock that the devices use, in these settings
of the recipe, and tells losses, spans and how far Python went ahead.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from time import sleep
from typing import TYPE_CHECKING, Any

from prumo_worker.data.dataset import arranged
from prumo_worker.networks.weights import initial_weights
from prumo_worker.recipe import Recipe
from support.framework_process import arguments, run_script, tell
from support.small_networks import small_network
from support.trainer_process import IMAGES, SEED, pictures

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_worker.frameworks import Trainer
    from prumo_worker.networks import Network

STEPS = 4


def train_as_on_a_device(python: Path, framework: str, **settings: Any) -> dict[str, Any]:
    """The losses and spans of a few steps on the same batch.

    The clock is held up after the second. For each step, `settled` says whether all up to the one
    before the last was known to be done when it had been asked for.
    """
    answer: dict[str, Any] = run_script(python, __file__, framework, settings)
    return answer


def device_trainer(framework: str, net: Network, recipe: Recipe) -> Trainer:
    """Each framework's own class for devices, where it would have put a GPU."""
    library = import_module(framework)
    place = ".trainer" if framework == "mxnet" else ""
    module = import_module(f"prumo_worker.frameworks.{framework}{place}")
    trainer: Trainer
    if framework == "tensorflow":
        processor = library.distribute.OneDeviceStrategy("/CPU:0")
        trainer = module.DeviceTensorFlow(net, recipe, processor, "a processor")
    elif framework == "jax":
        trainer = module.DeviceJax(net, recipe, library.devices("cpu")[0])
    else:
        trainer = module.DeviceMXNet(net, recipe, library.cpu())
    return trainer


def _main(framework: str, settings: dict[str, Any]) -> None:
    net = small_network("convolution")
    recipe = Recipe(
        framework=framework, network="small", dataset="generated", batch_size=IMAGES, **settings
    )
    trainer: Any = device_trainer(framework, net, recipe)
    trainer.load(initial_weights(net, SEED))
    images, labels = pictures()
    images = arranged(images, trainer.layout)
    marks, outcomes, settled = [trainer.mark()], [], []
    for number in range(STEPS):
        batch = trainer.batch(images, labels)
        marks.append(trainer.mark())
        outcomes.append(trainer.step(batch))
        settled.append(all(mark.done() for mark in marks[: 2 * number - 1]))
        if number == 1:
            trainer._clock.mark(partial(sleep, 0.5))
        marks.append(trainer.mark())
    spans = trainer.spans(marks)
    losses, _ = trainer.fetch(outcomes)
    tell({"losses": losses, "spans": spans, "settled": settled})


if __name__ == "__main__":
    _main(*arguments())
