"""That no network of a package reaches beyond the package, without importing any framework."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.model.source.protobuf import messages

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.model.manifest import Manifest, NetworkFile

_ONNX_ENDING = ".onnx"
# The fields of onnx.proto in which weights can be.
_ONNX_TREE = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "graph": {1: "node", 5: "tensor", 15: "sparse_tensor"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor",
        6: "graph",
        10: "tensor",
        11: "graph",
        22: "sparse_tensor",
        23: "sparse_tensor",
    },
    "sparse_tensor": {1: "tensor", 2: "tensor"},
}
_DATA_LOCATION = 14
"""Of a tensor; anything but 0 means another file."""


def require_harmless(folder: Path, manifest: Manifest, shown: Path) -> None:
    """Refuse networks that would open other files or run code when they are loaded."""
    for name in manifest.files:
        if name.endswith(_ONNX_ENDING):
            _require_one_file(folder / name, shown)
    _require_harmless_network(folder, manifest.network, shown)
    if manifest.heat_map is not None:
        _require_harmless_network(folder, manifest.heat_map.network, shown)


def _require_harmless_network(folder: Path, network: NetworkFile, shown: Path) -> None:
    path = folder / network.file
    if network.runtime == "pytorch":
        from prumo.model.source import pytorch_export  # noqa: PLC0415 (others do without it)

        pytorch_export.require_harmless(path)
    if network.runtime == "tensorflow":
        from prumo.model.source import saved_model  # noqa: PLC0415 (as above)

        saved_model.require_harmless(path / saved_model.GRAPH_FILE, shown)


def _require_one_file(path: Path, shown: Path) -> None:
    if not path.stat().st_size:
        raise InputError(f"{shown}: {path.name} is empty")
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            is_elsewhere = any(
                kind == "tensor"
                and any(field.number == _DATA_LOCATION and field.value for field in fields)
                for kind, fields in messages(content, _ONNX_TREE, "model")
            )
    except ValueError as error:
        raise InputError(f"{shown}: {path.name} is no whole ONNX file: {error}") from error
    if is_elsewhere:
        raise InputError(
            f"{shown}: {path.name} keeps weights in another file, which a package never does; "
            "pack the model again with `prumo model package`"
        )
