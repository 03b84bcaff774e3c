"""Training with Apache MXNet, on the processor or on one CUDA device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    from prumo_worker.frameworks import Trainer
    from prumo_worker.networks import Network
    from prumo_worker.recipe import Recipe


def open_trainer(network: Network, recipe: Recipe, threads: int) -> Trainer:
    """Build the network where the recipe wants it, or say why that is not possible here."""
    if recipe.device == "tpu":
        raise Unavailable("Prumo trains with MXNet on cpu and cuda, not on tpu")
    if recipe.precision != "fp32":
        raise Unavailable(f"Prumo trains with MXNet in fp32, not in {recipe.precision}")
    if recipe.channels_last:
        raise Unavailable("MXNet computes with channels first, not with channels_last")
    # MXNet reads it once, when it is imported.
    os.environ["OMP_NUM_THREADS"] = str(threads)
    from prumo_worker.frameworks.mxnet import trainer  # noqa: PLC0415 (see above)

    return trainer.open_trainer(network, recipe)
