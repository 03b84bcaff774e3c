"""Weights of a network as plain arrays, whatever program wrote them."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import StorageError
from prumo.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class NamedArrays:
    """Arrays under the names that their file gives them, and what file that was."""

    arrays: Mapping[str, np.ndarray]
    """Keras: `layer/variable`. PyTorch and most ONNX files: `module.variable`, in order of use."""
    source: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.source}, SHA-256 {self.sha256}"


def write_arrays(named: NamedArrays, path: Path) -> None:
    """As an `.npz` that a worker reads with numpy alone; whole or not there."""
    content = io.BytesIO()
    # Not numpy.savez, whose own parameters are names that an array cannot have.
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in named.arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
    try:
        write_whole(path, content.getvalue())
    except OSError as error:
        raise StorageError.on_writing(path, error) from error
