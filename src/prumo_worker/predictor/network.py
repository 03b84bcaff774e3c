"""A network loaded in its own framework: a SavedModel in TensorFlow, or an export of PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

import numpy as np

from prumo_worker.failure import DataError

if TYPE_CHECKING:
    from pathlib import Path

Compute = Callable[[np.ndarray], "dict[str, np.ndarray]"]
_USUAL = "serving_default"


@dataclass(frozen=True)
class Network:
    """A loaded network and what it computes of a batch."""

    inputs: list[str]
    outputs: list[str]
    batch_size: int | None
    """None where it takes batches of any size."""
    compute: Compute


def load_saved_model(path: Path, threads: int) -> Network:
    """Load the signature for serving, or the only one that there is."""
    import tensorflow as tf  # noqa: PLC0415 (not every environment has it)

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    loaded = tf.saved_model.load(str(path))
    names = list(loaded.signatures)
    if _USUAL not in names and len(names) != 1:
        raise DataError(f"{path} has {len(names)} signatures and none is {_USUAL}")
    name = _USUAL if _USUAL in names else names[0]
    function = loaded.signatures[name]
    taken = function.structured_input_signature[1]
    first, spec = next(iter(taken.items()))

    def compute(batch: np.ndarray) -> dict[str, np.ndarray]:
        # Asked by way of the model: a function alone would not keep its variables alive.
        values = loaded.signatures[name](**{first: tf.constant(batch, spec.dtype)})
        return {output: value.numpy() for output, value in values.items()}

    return Network(list(taken), sorted(function.structured_outputs), spec.shape[0], compute)


def load_pytorch_export(path: Path, threads: int) -> Network:
    """Load the graph; what in the file PyTorch would unpickle is never run."""
    # Not every environment has it.
    import torch  # noqa: PLC0415

    from prumo_worker.conversion.pytorch_conversion import OUTPUT  # noqa: PLC0415

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


LOADERS: dict[str, Callable[[Path, int], Network]] = {
    "tensorflow": load_saved_model,
    "pytorch": load_pytorch_export,
}
"""By framework; each takes the network's path and a number of threads."""
