"""Weights that PyTorch saved, as a state dict or as safetensors.

A state dict is a pickle, which could call anything: PyTorch itself reads it in its own environment,
and only tensors come out. A safetensors file holds nothing but numbers and is read here.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from prumo.errors import DataError, StorageError, UnavailableError
from prumo_retina.weights.files import opened_archive

_KIND = "pytorch_weights"
_MEMORY_SHARE = 0.8
"""Of what is free: a forged file is stopped before the machine has none left."""
_DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "F16": "<f2",
    "BF16": "<u2",
    "F32": "<f4",
    "F64": "<f8",
}


def arrays_of_pytorch(content: bytes) -> dict[str, np.ndarray]:
    """Of a state dict, in the zip format or the one before PyTorch 1.6."""
    # Imported here, because only these files need a worker.
    from prumo.environments.frameworks import find_framework  # noqa: PLC0415
    from prumo.environments.store import existing  # noqa: PLC0415
    from prumo.machine.machine import read_memory  # noqa: PLC0415
    from prumo.run.worker import Terms, WorkerError, WorkerMemoryError, WorkerTask, do_task  # noqa: PLC0415

    environment = existing(find_framework("pytorch"))
    if environment is None:
        raise UnavailableError(
            "weights of PyTorch are read by PyTorch: set its environment up with "
            "`prumo setup pytorch`, or save the weights as .safetensors"
        )
    _refuse_compression(content)
    with tempfile.TemporaryDirectory(prefix="prumo-") as name:
        folder = Path(name)
        source, out = folder / "weights.pt", folder / "arrays.npz"
        try:
            source.write_bytes(content)
        except OSError as error:
            raise StorageError.on_writing(source, error) from error
        task = WorkerTask(_KIND, {}, {"source": str(source), "out": str(out)})
        terms = Terms(memory_bytes=int(read_memory().available_bytes * _MEMORY_SHARE))
        try:
            do_task(task, environment, folder, lambda _: None, terms)
        except WorkerMemoryError as error:
            raise DataError(f"needs more memory than is free: {error}") from error
        except WorkerError as error:
            raise DataError(str(error)) from error
        with np.load(out, allow_pickle=False) as arrays:
            return dict(arrays)


def _refuse_compression(content: bytes) -> None:
    if zipfile.is_zipfile(io.BytesIO(content)):
        try:
            opened_archive(content).close()
        except zipfile.BadZipFile as error:
            raise DataError(f"is no whole state dict of PyTorch: {error}") from error


def arrays_of_safetensors(content: bytes) -> dict[str, np.ndarray]:
    """Under the names of PyTorch's modules."""
    import safetensors  # noqa: PLC0415 (belongs to an extra, and other kinds of files do without it)

    try:
        # The package's stub has no types.
        tensors = safetensors.deserialize(content)  # type: ignore[no-untyped-call]
        return {
            name: _array(name, tensor["dtype"], tensor["shape"], tensor["data"])
            for name, tensor in tensors
        }
    except safetensors.SafetensorError as error:
        raise DataError(f"is no whole safetensors file: {error}") from error


def _array(name: str, dtype: str, shape: list[int], data: bytes) -> np.ndarray:
    if dtype not in _DTYPES:
        raise DataError(f"the array {name!r} is of {dtype}, which is not understood")
    numbers = np.frombuffer(data, _DTYPES[dtype]).reshape(shape)
    if dtype == "BF16":
        # A bfloat16 is the upper half of a float32.
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    return numbers
