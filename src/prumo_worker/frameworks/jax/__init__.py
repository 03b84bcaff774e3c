"""Training with JAX, on the processor, on one CUDA device or on one core of a TPU."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import jax

from prumo_worker.failure import Unavailable
from prumo_worker.frameworks.jax.trainer import DeviceJax, Jax

if TYPE_CHECKING:
    from prumo_worker.networks import Network
    from prumo_worker.recipe import Recipe


def open_trainer(network: Network, recipe: Recipe, threads: int) -> Jax:
    """Build the network where the recipe wants it, or say why that is not possible here."""
    if recipe.precision == "fp16" and recipe.device != "cuda":
        raise Unavailable(f"fp16 needs a CUDA device; on {recipe.device} there is bf16")
    _prepare(recipe.device, threads)
    place = _place(recipe.device)
    trainer = Jax if recipe.device == "cpu" else DeviceJax
    return trainer(network, recipe, place)


def _prepare(device: str, threads: int) -> None:
    """What JAX reads when it first looks for devices."""
    if device == "cpu":
        # Else JAX opens every GPU that it finds.
        jax.config.update("jax_platforms", "cpu")
    # The size of the pool that XLA computes with on the processor.
    os.environ["PJRT_NPROC"] = str(threads)
    # A GPU's memory is taken as needed, so that its use can be seen.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def _place(device: str) -> jax.Device:
    try:
        place: jax.Device = jax.devices(device)[0]
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise Unavailable(f"no {device.upper()} device: {reason}") from error
    return place
