"""An export of PyTorch's, which has one input and one output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from prumo_worker.conversion.pytorch_conversion import OUTPUT
from prumo_worker.predictor.network import Network

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np


def load(path: Path, threads: int) -> Network:
    """Load the graph; what in the file PyTorch would unpickle is never run."""
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    exported = torch.export.load(path)
    module = exported.module()
    name = exported.graph_signature.user_inputs[0]
    (taken,) = [node for node in exported.graph.nodes if node.name == name]
    size = taken.meta["val"].shape[0]

    def compute(batch: np.ndarray) -> dict[str, np.ndarray]:
        with torch.inference_mode():
            return {OUTPUT: module(torch.from_numpy(batch)).float().numpy()}

    return Network([name], [OUTPUT], size if isinstance(size, int) else None, compute)
