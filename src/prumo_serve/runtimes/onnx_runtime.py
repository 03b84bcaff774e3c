"""ONNX Runtime: small, quick to start, and the default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo_serve.runtimes import (
    Runtime,
    answering,
    closed,
    imported,
    loading,
    require_outputs,
    run_in_pieces,
)

if TYPE_CHECKING:
    import numpy as np

    from prumo_serve.runtimes import Resources

NAME = "ONNX Runtime"
_ERRORS_ONLY = 3


class OnnxNetwork:
    """A session, which itself may be asked from several threads at once."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401 (ONNX Runtime has no types)
        self._session = session
        self.input_names = tuple(tensor.name for tensor in session.get_inputs())
        self.output_names = tuple(tensor.name for tensor in session.get_outputs())
        first_axis = session.get_inputs()[0].shape[0]
        self._batch_size = first_axis if isinstance(first_axis, int) else None

    @property
    def is_ready(self) -> bool:
        """Until it is closed."""
        return self._session is not None

    def run(self, batch: np.ndarray, outputs: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The wanted outputs of a batch."""
        session = self._session
        if session is None:
            raise closed()
        require_outputs(outputs, self.output_names)

        def once(piece: np.ndarray) -> Mapping[str, np.ndarray]:
            values = session.run(list(outputs), {self.input_names[0]: piece})
            return dict(zip(outputs, values, strict=True))

        with answering(NAME):
            return run_in_pieces(once, batch, self._batch_size)

    def close(self) -> None:
        """Let the session go; a thread that still asks keeps it until it has its answer."""
        self._session = None


class OnnxRuntime(Runtime):
    """ONNX files."""

    endings = (".onnx",)
    is_cheap_to_load_twice = True

    def load(self, path: Path, resources: Resources) -> OnnxNetwork:
        """Load an ONNX file."""
        onnxruntime = imported("onnxruntime", NAME, "serve")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = resources.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        # Threads that wait by spinning take a whole core from whoever decodes the next image.
        spins = str(int(resources.may_spin))
        options.add_session_config_entry("session.intra_op.allow_spinning", spins)
        options.add_session_config_entry("session.force_spinning_stop", "1")
        with loading(path, NAME):
            session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
            return OnnxNetwork(session)


RUNTIME = OnnxRuntime()
