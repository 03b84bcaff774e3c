"""The process: `python -m prumo_worker.predictor tensorflow|pytorch PATH THREADS`.

It says what the network takes and gives, then answers batch after batch until its input ends.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Callable

import numpy as np

from prumo_worker.conversion.facts import OUTPUT
from prumo_worker.predictor import Frame, read_frame, write_frame
from prumo_worker.task import DataError, kind_of, typed_line

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
    # Before the import, in case a pickle was overlooked: none is ever run.
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    import torch  # noqa: PLC0415 (not every environment has it)

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


def main(arguments: list[str]) -> int:
    """Serve one network; 1 when it could not be loaded."""
    framework, path, threads = arguments
    incoming, outgoing = _own_pipes()
    try:
        network: Network = LOADERS[framework](Path(path), int(threads))
    except Exception as error:  # noqa: BLE001 (whatever it is, the controller must hear of it)
        kind = "unavailable" if isinstance(error, ModuleNotFoundError) else kind_of(error)
        write_frame(outgoing, Frame({"failed": kind, "message": typed_line(error)}))
        return 1
    about = {name: getattr(network, name) for name in ("inputs", "outputs", "batch_size")}
    write_frame(outgoing, Frame(about))
    while (asked := read_frame(incoming)) is not None:
        write_frame(outgoing, _answer(network, asked))
    return 0


def _answer(network: Network, asked: Frame) -> Frame:
    try:
        values = network.compute(asked.arrays["batch"])
    except Exception as error:  # noqa: BLE001 (one bad batch must not end the process)
        return Frame({"failed": kind_of(error), "message": typed_line(error)})
    return Frame({}, {name: values[name] for name in asked.document["outputs"]})


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output for messages only: what a framework prints goes to the log."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return incoming, outgoing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
