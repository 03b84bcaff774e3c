"""Weights in files of Keras, ONNX and PyTorch. Only numbers are read; nothing is executed.

A model's code and configuration, which Keras would run, stay untouched. A state dict of PyTorch is
a pickle, which could call anything: PyTorch itself reads it in its own environment, and only
tensors come out. A safetensors file holds nothing but numbers and is read here.
"""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.errors import DataError, StorageError, UnavailableError
from prumo.files import write_whole
from prumo_worker.retina.backbones import EVEN_PADDING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import h5py

_WEIGHTS_IN_ARCHIVE = "model.weights.h5"
_MODEL_WEIGHTS = "model_weights"
_VARIABLES_GROUP = "vars"
_FOREIGN = {"optimizer", "optimizer_weights", "seed_generator", "metrics"}
_OLD_NAMES = {"depthwise_kernel": "kernel", "W": "kernel", "b": "bias"}

_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*\.(weight|bias|running_mean|running_var)")
_NORMALIZATION = ("scale", "shift", "mean", "variance")

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
    with StorageError.writing(path):
        write_whole(path, content.getvalue())


def opened_archive(content: bytes) -> zipfile.ZipFile:
    """For reading; one that would swell is refused: Keras and PyTorch never compress."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise DataError("is compressed, which files of Keras and PyTorch are not")
    # Members that share their bytes would swell too.
    if sum(member.file_size for member in members) > len(content):
        raise DataError("is an archive whose parts are larger than itself")
    return archive


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
    for path, dataset in datasets.items():
        *layer, variable = path.split("/")
        if not layer or _FOREIGN & {*layer, variable}:
            continue
        if layer[-1] == _VARIABLES_GROUP:
            name = f"{_given_name(dataset.parent)}/{variable}"
        else:
            name = f"{_layer_name(layer)}/{_variable_name(variable)}"
        if name in arrays:
            raise DataError(f"has two arrays that are both called {name}; save the backbone alone")
        arrays[name] = np.asarray(dataset[()])
    return arrays


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


def arrays_of_onnx(content: bytes) -> dict[str, np.ndarray]:
    """Under the names of PyTorch's modules where the file kept them.

    Else convolutions are numbered in order of use: `conv_0.weight`, `conv_0.bias`, and of a
    normalization that follows `conv_0.scale`, `.shift`, `.mean` and `.variance`.
    """
    import onnx  # noqa: PLC0415 (belongs to an extra, and other kinds of files do without it)
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        return _arrays(onnx.load_model_from_string(content).graph)
    # What the format demands and a damaged or forged graph lacks ends in one of the others.
    except (DecodeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"is no whole ONNX file: {error}") from error


def _arrays(graph: Any) -> dict[str, np.ndarray]:  # noqa: ANN401 (a protocol buffer)
    initializers = {tensor.name: _array(tensor) for tensor in graph.initializer}
    used = [name for node in graph.node for name in node.input if name in initializers]
    kernels = [node.input[1] for node in graph.node if node.op_type == "Conv"]
    # Exporters often rename modules.
    if all(_MODULE_NAME.fullmatch(name) for name in kernels if name in initializers):
        return {name: initializers[name] for name in used if _MODULE_NAME.fullmatch(name)}
    return dict(_numbered(graph.node, initializers))


def _array(tensor: Any) -> np.ndarray:  # noqa: ANN401 (a protocol buffer)
    from onnx import TensorProto, numpy_helper  # noqa: PLC0415

    if tensor.data_location == TensorProto.EXTERNAL:
        raise DataError("keeps its weights in another file; save the model as one file")
    array: np.ndarray = numpy_helper.to_array(tensor)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _numbered(
    nodes: Sequence[Any], initializers: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    made_by: dict[str, str] = {}
    is_even = False
    for node in nodes:
        arrays = [initializers[name] for name in node.input if name in initializers]
        if node.op_type == "Conv" and node.input[1] in initializers:
            name = made_by[node.output[0]] = f"conv_{len(made_by)}"
            is_even |= _is_evenly_padded(node)
            yield from zip((f"{name}.weight", f"{name}.bias"), arrays, strict=False)
        elif node.op_type == "BatchNormalization" and node.input[0] in made_by:
            parts = [f"{made_by[node.input[0]]}.{part}" for part in _NORMALIZATION]
            yield from zip(parts, arrays, strict=True)
        elif node.op_type in {"Gemm", "MatMul"} and arrays:
            yield f"{node.output[0]}.weight", arrays[0]
    if is_even:
        yield EVEN_PADDING, np.ones(())


def _is_evenly_padded(node: Any) -> bool:  # noqa: ANN401 (a protocol buffer)
    """PyTorch's convolutions are, when they stride; TensorFlow's are padded on the far side."""
    settings = {attribute.name: attribute for attribute in node.attribute}
    if "strides" not in settings or "pads" not in settings:
        return False
    pads = list(settings["pads"].ints)
    half = len(pads) // 2
    return max(settings["strides"].ints) > 1 and pads[:half] == pads[half:] and max(pads) > 0


def arrays_of_pytorch(content: bytes) -> dict[str, np.ndarray]:
    """Of a state dict, in the zip format or the one before PyTorch 1.6."""
    # Imported here, because only these files need a worker.
    from prumo.environments.frameworks import find_framework  # noqa: PLC0415
    from prumo.environments.store import existing  # noqa: PLC0415
    from prumo.machine.machine import read_memory  # noqa: PLC0415
    from prumo.run.worker import WorkerError, WorkerMemoryError, WorkerTask, do_task  # noqa: PLC0415

    environment = existing(find_framework("pytorch"))
    if environment is None:
        raise UnavailableError(
            "weights of PyTorch are read by PyTorch: set its environment up with "
            "`prumo setup pytorch`, or save the weights as .safetensors"
        )
    if zipfile.is_zipfile(io.BytesIO(content)):
        try:
            opened_archive(content).close()
        except zipfile.BadZipFile as error:
            raise DataError(f"is no whole state dict of PyTorch: {error}") from error
    with tempfile.TemporaryDirectory(prefix="prumo-") as name:
        folder = Path(name)
        source, out = folder / "weights.pt", folder / "arrays.npz"
        with StorageError.writing(source):
            source.write_bytes(content)
        data = {"source": str(source), "out": str(out)}
        memory_bytes = int(read_memory().available_bytes * _MEMORY_SHARE)
        task = WorkerTask(_KIND, {}, data, memory_bytes=memory_bytes)
        try:
            do_task(task, environment, folder, lambda _: None)
        except WorkerMemoryError as error:
            raise DataError(f"needs more memory than is free: {error}") from error
        except WorkerError as error:
            raise DataError(str(error)) from error
        with np.load(out, allow_pickle=False) as arrays:
            return dict(arrays)


def arrays_of_safetensors(content: bytes) -> dict[str, np.ndarray]:
    """Under the names of PyTorch's modules."""
    import safetensors  # noqa: PLC0415 (belongs to an extra, and other kinds of files do without it)

    try:
        # The package's stub has no types.
        tensors = safetensors.deserialize(content)  # type: ignore[no-untyped-call]
    except safetensors.SafetensorError as error:
        raise DataError(f"is no whole safetensors file: {error}") from error
    arrays = {}
    for name, tensor in tensors:
        kind = tensor["dtype"]
        if kind not in _DTYPES:
            raise DataError(f"the array {name!r} is of {kind}, which is not understood")
        array = np.frombuffer(tensor["data"], _DTYPES[kind]).reshape(tensor["shape"])
        # A bfloat16 is the upper half of a float32.
        is_half = kind == "BF16"
        arrays[name] = (array.astype(np.uint32) << 16).view(np.float32) if is_half else array
    return arrays
