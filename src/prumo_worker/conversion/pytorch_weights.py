"""The numbers in a state dict of PyTorch, read by PyTorch and written as an `.npz`.

A `.pt` or `.pth` file is a pickle, which could call anything. PyTorch's `weights_only` reader knows
the names that rebuild tensors and calls nothing else.
"""

from __future__ import annotations

import os
import pickle
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo_worker.task import Task

# Before the import: no pickle is ever run, whoever asks for it.
os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"

import numpy as np
import torch

from prumo_worker.task import DataError

if TYPE_CHECKING:
    from prumo_worker.journal import Journal

_NESTED = ("state_dict", "model_state_dict", "model")
_CALLED = re.compile(r"GLOBAL ([\w.]+)")
_READER_SAYS = "WeightsUnpickler error: "
_DEEPEST = 10


def read(task: Task, _: Journal) -> dict[str, float]:
    """Write the arrays of the task's `source` into its `out`."""
    arrays = arrays_of(Path(task.data["source"]))
    with zipfile.ZipFile(task.data["out"], "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return {}


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a state dict as arrays; bfloat16, which numpy lacks, as float32."""
    tensors = _tensors(_loaded(path))
    # Many tensors may share one storage, and each becomes an array of its own.
    if sum(tensor.numel() for tensor in tensors.values()) > path.stat().st_size:
        raise DataError("has tensors that are larger than the file itself")
    return {name: _array(name, tensor) for name, tensor in tensors.items()}


def _loaded(path: Path) -> Any:  # noqa: ANN401 (whatever the file has)
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        called = _CALLED.search(str(error))
        if called:
            raise DataError(
                f"wants to call {called.group(1)}, which a state dict has no need of, and was not "
                "opened. Save the weights alone: torch.save(model.state_dict(), FILE)"
            ) from error
        raise _broken(error) from error
    # A broken pickle raises whatever the instruction that it stumbles over raises.
    except Exception as error:
        raise _broken(error) from error


def _broken(error: Exception) -> DataError:
    # Not all of PyTorch's words: they advise to let the file call what it wants.
    words = str(error).partition(_READER_SAYS)[2] or str(error)
    reason = words.strip().partition("\n")[0] or type(error).__name__
    return DataError(f"is no whole state dict of PyTorch: {reason}")


def _tensors(saved: Any, depth: int = 0) -> dict[str, torch.Tensor]:  # noqa: ANN401 (see above)
    """The state dict, which trainers often save beside other things."""
    if not isinstance(saved, Mapping) or depth == _DEEPEST:
        raise DataError("holds no state dict")
    for name in _NESTED:
        if isinstance(saved.get(name), Mapping):
            return _tensors(saved[name], depth + 1)
    return {
        name: value
        for name, value in saved.items()
        if isinstance(name, str) and isinstance(value, torch.Tensor)
    }


def _array(name: str, tensor: torch.Tensor) -> np.ndarray:
    if not name.isprintable():
        raise DataError(f"has an array with a name that cannot be printed: {name[:60]!a}")
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        raise DataError(f"the array {name!r} is not of plain numbers")
    plain = tensor.detach()
    array: np.ndarray = (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()
    return array
