"""Weights from files of Keras: `.keras` archives, `.weights.h5`, and the older `.h5`.

Only numbers are read. A model's code and configuration, which Keras would run, stay untouched.
"""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import DataError
from prumo.retina.weights.archive import opened_archive

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import h5py

_WEIGHTS_IN_ARCHIVE = "model.weights.h5"
_MODEL_WEIGHTS = "model_weights"
_VARIABLES_GROUP = "vars"
_FOREIGN = ("optimizer", "optimizer_weights", "seed_generator", "metrics")
_OLD_NAMES = {"depthwise_kernel": "kernel", "W": "kernel", "b": "bias"}


def arrays_of_keras_archive(content: bytes) -> dict[str, np.ndarray]:
    """Of a `.keras` file: a zip with the weights as HDF5."""
    try:
        with opened_archive(content) as archive:
            return arrays_of_keras(archive.read(_WEIGHTS_IN_ARCHIVE))
    except KeyError as error:
        raise DataError(f"is no model of Keras: no {_WEIGHTS_IN_ARCHIVE} in it") from error
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError) as error:
        raise DataError(f"is no whole .keras archive: {error}") from error


def arrays_of_keras(content: bytes) -> dict[str, np.ndarray]:
    """Of an HDF5 file of Keras, new or old, named `layer/variable`.

    Newer files number a layer's variables: `conv1/0` is its first.
    """
    import h5py  # noqa: PLC0415 (belongs to an extra, and other kinds of files do without it)

    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            datasets = _datasets(file)
            if sum(dataset.nbytes for dataset in datasets.values()) > len(content):
                raise DataError("has arrays that are larger than the file itself")
            return _named(datasets)
    # h5py raises all of these for damaged files.
    except (OSError, OverflowError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"is no whole HDF5 file: {error}") from error


def _named(datasets: Mapping[str, h5py.Dataset]) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for name, dataset in _names(datasets):
        if name in arrays:
            raise DataError(f"has two arrays that are both called {name}; save the backbone alone")
        arrays[name] = np.asarray(dataset[()])
    return arrays


def _names(datasets: Mapping[str, h5py.Dataset]) -> Iterator[tuple[str, h5py.Dataset]]:
    for path, dataset in datasets.items():
        parts = path.split("/")
        if any(part in _FOREIGN for part in parts):
            continue
        *layer, variable = parts
        if layer and layer[-1] == _VARIABLES_GROUP:
            yield f"{_given_name(dataset.parent)}/{variable}", dataset
        elif layer:
            yield f"{_layer_name(layer)}/{_variable_name(variable)}", dataset


def _datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Every array that lies in the file itself, as it is: links are not followed."""
    import h5py  # noqa: PLC0415

    found: dict[str, h5py.Dataset] = {}

    def visit(path: str, item: h5py.HLObject) -> None:
        if isinstance(item, h5py.Dataset):
            if item.is_virtual or item.external:
                raise DataError(f"keeps {path} in another file; only whole files are read")
            if item.id.get_create_plist().get_nfilters():
                raise DataError(f"has {path} compressed, which Keras does not do")
            found[path] = item

    file.visititems(visit)
    return found


def _given_name(group: h5py.Group) -> str:
    """The layer's own name, which Keras writes beside its variables."""
    name = group.attrs.get("name")
    if not isinstance(name, str):
        raise DataError(
            "does not name its layers, as files of early versions of Keras 3 do; open it in Keras "
            "and save the model as .h5"
        )
    return name.replace("/", "_")


def _layer_name(path: list[str]) -> str:
    """The older layout repeats the layer's name, which may have a slash: `conv1/bn/conv1/bn`.

    A model inside a model has its own name before its layers'.
    """
    inner = path[1:] if path[0] == _MODEL_WEIGHTS else path
    half = len(inner) // 2
    if inner[:half] == inner[half:]:
        return "_".join(inner[:half])
    return inner[-1] if inner else ""


def _variable_name(name: str) -> str:
    """`kernel:0` and `block1_conv1_W_1:0` → `kernel`."""
    bare = name.partition(":")[0]
    if bare.endswith("_1"):
        bare = bare.removesuffix("_1").rpartition("_")[2]
    return _OLD_NAMES.get(bare, bare)
