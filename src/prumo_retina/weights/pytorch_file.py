"""Weights from a state dict of PyTorch, without PyTorch and without running what it holds.

A `.pt` or `.pth` file is a pickle, which could call anything. Only the names that rebuild tensors
are understood here, and they make plain arrays; every other name is refused.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from math import prod
from typing import IO, Any, NamedTuple

import numpy as np

from prumo.errors import DataError
from prumo_retina.weights.files import opened_archive

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_COUNT_BYTES = 8
_MEMO = {"PUT", "BINPUT", "LONG_BINPUT"}
_NESTED = ("state_dict", "model_state_dict", "model")
_BFLOAT16 = "bfloat16"
_STORAGES = {
    "BFloat16Storage": _BFLOAT16,
    "BoolStorage": "?",
    "ByteStorage": "u1",
    "CharStorage": "i1",
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "IntStorage": "<i4",
    "LongStorage": "<i8",
    "ShortStorage": "<i2",
}


def arrays_of_pytorch(content: bytes) -> dict[str, np.ndarray]:
    """Of a state dict, in the zip format or the one before PyTorch 1.6."""
    is_zip = zipfile.is_zipfile(io.BytesIO(content))
    try:
        saved, storages = _from_zip(content) if is_zip else _from_legacy(content)
        tensors = _tensors(saved)
        _check_sizes(tensors, len(content))
        return {name: tensor.array(storages) for name, tensor in tensors.items()}
    except DataError:
        raise
    # A broken pickle raises whatever the instruction that it stumbles over raises.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise DataError(f"is no whole state dict of PyTorch: {reason}") from error


class _Storage(NamedTuple):
    """A run of numbers in the file, of which tensors are views.

    A tuple, because a pickle can change the attributes of anything else that it made.
    """

    kind: str
    key: str
    length: int

    @property
    def bytes(self) -> int:
        return self.length * (2 if self.kind == _BFLOAT16 else np.dtype(self.kind).itemsize)


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def array(self, storages: Mapping[str, bytes]) -> np.ndarray:
        """A copy of the tensor's numbers."""
        numbers = _numbers(self.storage, storages)
        if 0 in self.shape:
            return np.empty(self.shape, numbers.dtype)
        last = self.offset + sum(
            (length - 1) * stride for length, stride in zip(self.shape, self.strides, strict=True)
        )
        # Without these checks a forged file could read memory that is not its own.
        is_inside = min(self.offset, *self.shape, *self.strides, 0) == 0 and last < len(numbers)
        if not is_inside:
            raise DataError("has a tensor that reaches beyond its storage")
        steps = tuple(stride * numbers.itemsize for stride in self.strides)
        view = np.lib.stride_tricks.as_strided(numbers[self.offset :], self.shape, steps)
        return view.copy()


class _Unpickler(pickle.Unpickler):
    """Understands the names that rebuild tensors; calls nothing else."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(stream)
        self.storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 (a class or a function)
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        known = _ALLOWED.get((module, name))
        if known is None:
            raise DataError(
                f"wants to call {module}.{name}, which a state dict has no need of, and was not "
                "opened. Save the weights alone: torch.save(model.state_dict(), FILE)"
            )
        return known

    def persistent_load(self, pid: Any) -> _Storage:  # noqa: ANN401 (whatever the file has)
        marker, kind, key, _, length = pid[:5]
        is_known = marker == "storage" and kind in _STORAGES.values()
        if not is_known or not isinstance(key, str) or not isinstance(length, int):
            raise DataError("has a storage that is not understood")
        return self.storages.setdefault(key, _Storage(kind, key, length))


def _rebuilt_tensor(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object
) -> _Tensor:
    if not isinstance(storage, _Storage):
        raise DataError("has a tensor without a storage")
    return _Tensor(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))


def _rebuilt_parameter(tensor: _Tensor, *_: object) -> _Tensor:
    return tensor


_ALLOWED: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor"): _rebuilt_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuilt_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuilt_parameter,
}


def _from_zip(content: bytes) -> tuple[Any, Mapping[str, bytes]]:
    with opened_archive(content) as archive:
        names = archive.namelist()
        (root,) = (name.removesuffix("data.pkl") for name in names if name.endswith("/data.pkl"))
        if f"{root}byteorder" in names and archive.read(f"{root}byteorder") != b"little":
            raise DataError("was written on a machine with another order of bytes")
        saved, _ = _loaded(io.BytesIO(archive.read(f"{root}data.pkl")))
        prefix = f"{root}data/"
        storages = {
            name.removeprefix(prefix): archive.read(name)
            for name in names
            if name.startswith(prefix)
        }
    return saved, storages


def _from_legacy(content: bytes) -> tuple[Any, Mapping[str, bytes]]:
    """One pickle after the other, then the storages in the order of the last one's keys."""
    stream = io.BytesIO(content)
    (magic, _), (protocol, _), (system, _) = (_loaded(stream) for _ in range(3))
    if magic != _LEGACY_MAGIC or protocol != _LEGACY_PROTOCOL:
        raise DataError("is no file of PyTorch")
    if not system["little_endian"]:
        raise DataError("was written on a machine with another order of bytes")
    saved, described = _loaded(stream)
    keys, _ = _loaded(stream)
    storages = {}
    for key in keys:
        stream.read(_COUNT_BYTES)
        storages[key] = stream.read(described[key].bytes)
    return saved, storages


def _loaded(stream: IO[bytes]) -> tuple[Any, Mapping[str, _Storage]]:
    """The next pickle, and the storages that it names."""
    start = stream.tell()
    _check_instructions(stream)
    stream.seek(start)
    unpickler = _Unpickler(stream)
    return unpickler.load(), unpickler.storages


def _check_instructions(stream: IO[bytes]) -> None:
    """Without loading: Python's own loader reserves whatever memory a pickle claims to need."""
    for instruction, argument, position in pickletools.genops(stream):
        # A place in the loader's memo; an honest pickle numbers them from zero on.
        if instruction.name in _MEMO and int(argument or 0) > (position or 0):
            raise DataError("claims more memory than a state dict needs")


def _tensors(saved: Any) -> dict[str, _Tensor]:  # noqa: ANN401 (whatever the file has)
    """The state dict, which trainers often save beside other things."""
    if not isinstance(saved, Mapping):
        raise DataError("holds no state dict")
    for name in _NESTED:
        if isinstance(saved.get(name), Mapping):
            return _tensors(saved[name])
    return {
        name: value
        for name, value in saved.items()
        if isinstance(name, str) and isinstance(value, _Tensor)
    }


def _check_sizes(tensors: Mapping[str, _Tensor], file_bytes: int) -> None:
    """Many tensors may share one storage, and each becomes an array of its own."""
    if sum(abs(prod(tensor.shape)) for tensor in tensors.values()) > file_bytes:
        raise DataError("has tensors that are larger than the file itself")


def _numbers(storage: _Storage, storages: Mapping[str, bytes]) -> np.ndarray:
    content = storages.get(storage.key, b"")
    if len(content) != storage.bytes:
        raise DataError(
            f"is cut off: a storage of {storage.bytes} bytes has {len(content)} bytes here"
        )
    if storage.kind == _BFLOAT16:
        # A bfloat16 is the upper half of a float32.
        return (np.frombuffer(content, "<u2").astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(content, storage.kind)
