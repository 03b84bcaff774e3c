"""Training with PyTorch, on the processor or on one CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from prumo_worker.failure import Unavailable
from prumo_worker.frameworks.pytorch.trainer import CudaPyTorch, PyTorch

if TYPE_CHECKING:
    from prumo_worker.networks import Network
    from prumo_worker.recipe import Recipe


def open_trainer(network: Network, recipe: Recipe, threads: int) -> PyTorch:
    """Build the network where the recipe wants it, or say why that is not possible here."""
    if recipe.device == "cpu":
        if recipe.precision == "fp16":
            raise Unavailable("fp16 needs a CUDA device; on the processor there is bf16")
        return PyTorch(network, recipe, threads)
    if recipe.device != "cuda":
        raise Unavailable(f"Prumo trains with PyTorch on cpu and cuda, not on {recipe.device}")
    if torch.version.cuda is None:
        raise Unavailable(f"no CUDA device: PyTorch {torch.__version__} is built without CUDA")
    if not torch.cuda.is_available():
        raise Unavailable("no CUDA device: PyTorch finds none on this machine")
    return CudaPyTorch(network, recipe, threads)
