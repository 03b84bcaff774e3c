"""Training with Caffe, on the processor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    from prumo_worker.frameworks import Trainer
    from prumo_worker.networks import Network
    from prumo_worker.recipe import Recipe


def open_trainer(network: Network, recipe: Recipe, threads: int) -> Trainer:
    """Build the network, or say why that is not possible here."""
    if recipe.device == "cuda":
        raise Unavailable("no CUDA device: the Caffe that Prumo installs is built without CUDA")
    if recipe.device != "cpu":
        raise Unavailable(f"Prumo trains with Caffe on cpu, not on {recipe.device}")
    if recipe.precision != "fp32":
        raise Unavailable(f"Caffe trains in fp32, not in {recipe.precision}")
    if recipe.channels_last:
        raise Unavailable("Caffe computes with channels first, not with channels_last")
    if recipe.schedule != "constant" and recipe.optimizer == "sgd" and recipe.momentum:
        raise Unavailable(
            "Caffe's momentum goes on with the learning rates of earlier steps, as no other's "
            "does: with a schedule it needs momentum 0, or adam"
        )
    # Caffe begins to log when it is imported; its errors are still told.
    os.environ.setdefault("GLOG_minloglevel", "2")
    from prumo_worker.frameworks.caffe.trainer import Caffe  # noqa: PLC0415 (see above)

    return Caffe(network, recipe, threads)
