"""OpenVINO, for its own form (`network.xml` beside `network.bin`) and for ONNX files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo_serve.runtimes import (
    Pool,
    Runtime,
    answering,
    imported,
    loading,
    require_outputs,
    run_in_pieces,
)

if TYPE_CHECKING:
    import numpy as np

    from prumo_serve.runtimes import Resources

NAME = "OpenVINO"
PRECISION_NOTE = ("runtime_options", "INFERENCE_PRECISION_HINT")
"""Where a network says in which precision it wants to be computed, such as `bf16`."""


class OpenVinoNetwork:
    """A compiled network, asked by a pool of requests."""

    def __init__(self, compiled: Any, callers: int) -> None:  # noqa: ANN401 (no types)
        self.input_names = tuple(tensor.any_name for tensor in compiled.inputs)
        self.output_names = tuple(tensor.any_name for tensor in compiled.outputs)
        first_axis = compiled.inputs[0].partial_shape[0]
        self._batch_size = first_axis.get_length() if first_axis.is_static else None
        self._requests: Pool[Any] = Pool(compiled.create_infer_request, callers)

    @property
    def is_ready(self) -> bool:
        """Until it is closed."""
        return self._requests.is_open

    def run(self, batch: np.ndarray, outputs: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The wanted outputs of a batch."""
        require_outputs(outputs, self.output_names)
        with self._requests.one() as request, answering(NAME):

            def once(piece: np.ndarray) -> Mapping[str, np.ndarray]:
                request.infer({0: piece}, share_inputs=True, share_outputs=True)
                return {name: request.get_tensor(name).data.copy() for name in outputs}

            return run_in_pieces(once, batch, self._batch_size)

    def close(self) -> None:
        """Let the requests go, and with the last of them the network."""
        self._requests.close()


class OpenVino(Runtime):
    """Its own format and ONNX files."""

    endings = (".xml", ".onnx")

    def load(self, path: Path, resources: Resources) -> OpenVinoNetwork:
        """Load a network with a stream of its own for each caller."""
        openvino = imported("openvino", NAME, "openvino")
        with loading(path, NAME):
            core = openvino.Core()
            network, note, hint = core.read_model(path), list(PRECISION_NOTE), "f32"
            if network.has_rt_info(note):
                hint = network.get_rt_info(note).astype(str)
            settings = {
                "NUM_STREAMS": resources.callers,
                "INFERENCE_NUM_THREADS": resources.threads * resources.callers,
                # Two servers on one machine would be pinned to the same cores.
                "ENABLE_CPU_PINNING": False,
                # Processors with bf16 units would otherwise compute fp32 networks in bf16.
                "INFERENCE_PRECISION_HINT": hint,
            }
            compiled = core.compile_model(network, "CPU", settings)
            return OpenVinoNetwork(compiled, resources.callers)


RUNTIME = OpenVino()
