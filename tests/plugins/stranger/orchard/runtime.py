"""A runtime: one matrix in an .npz file, multiplied by NumPy."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from prumo.errors import InputError
from prumo_serve.runtimes import LoadedNetwork, Resources, Runtime


class MatrixNetwork:
    """Scores = flattened image times matrix."""

    input_names = ("image",)
    output_names = ("scores",)

    def __init__(self, weights: np.ndarray) -> None:
        self._weights = weights
        self.is_ready = True

    def run(self, batch: np.ndarray, outputs: Sequence[str]) -> Mapping[str, np.ndarray]:
        """The scores of a batch."""
        return dict.fromkeys(outputs, batch.reshape(len(batch), -1) @ self._weights)

    def close(self) -> None:
        """Stop answering."""
        self.is_ready = False


class MatrixRuntime(Runtime):
    """Computes with NumPy alone."""

    endings = (".npz",)

    def load(self, path: Path, resources: Resources) -> LoadedNetwork:
        """Read the matrix `weights`."""
        try:
            with np.load(path, allow_pickle=False) as file:
                return MatrixNetwork(file["weights"])
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{path}: is no .npz file with an array `weights`: {error}") from error


RUNTIME = MatrixRuntime()
