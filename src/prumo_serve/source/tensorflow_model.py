"""Models of Keras and TensorFlow: looked through before either may open them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prumo.errors import InputError
from prumo.files import file_sha256
from prumo.protobuf import messages
from prumo_serve.choices import INSIDE
from prumo_serve.source import ModelMetadata, Source, file_source, objects_in

_CONFIGURATION = "config.json"
_METADATA = "metadata.json"
_ARCHIVE_ENDING = ".keras"
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_MAX_CONFIGURATION_BYTES = 64 * 1024**2
_MODULES = re.compile(
    r"keras(\.src)?(\.(layers|models|initializers|regularizers|constraints|activations|losses"
    r"|metrics|optimizers|dtype_policies|quantizers|ops|distribution|saving)(\.\w+)*)?"
    r"|builtins"
)
"""Parts of Keras that only describe a network; its `utils` also load files from anywhere."""
_RUNNING_CLASSES = {
    "Lambda": "a Lambda layer holds Python code; save the model with a layer of Keras's instead",
    "__lambda__": "a lambda function is Python code",
    "TFSMLayer": "a TFSMLayer opens another model from disk; package that SavedModel itself",
    "TorchModuleWrapper": "it holds a pickle of PyTorch's; export the model with torch.export",
    "JaxLayer": "it holds code of JAX's",
    "FlaxLayer": "it holds code of JAX's",
}
_NORMALIZING_CLASSES = {"Rescaling", "Normalization"}


def keras_source(path: Path) -> Source:
    """The model of a `.keras` archive or of an older HDF5 file."""
    if path.suffix != _ARCHIVE_ENDING:
        # Keras itself looks through the description: it opens such a file in its safe mode.
        with path.open("rb") as file:
            if file.read(len(_HDF5_SIGNATURE)) != _HDF5_SIGNATURE:
                raise InputError(
                    f"{path} is no HDF5 file, as models of older versions of Keras are"
                )
        return file_source(path, "keras")
    documents = _documents(path)
    configuration = documents[_CONFIGURATION]
    for part in _parts(configuration):
        _require_harmless(part, path)
    normalizes = any(part["class_name"] in _NORMALIZING_CLASSES for part in _parts(configuration))
    metadata = documents.get(_METADATA)
    version = metadata.get("keras_version") if isinstance(metadata, dict) else None
    return file_source(
        path,
        "keras",
        {"keras": str(version)} if version else {},
        normalization=INSIDE if normalizes else None,
        outputs=_outputs(configuration),
    )


def _documents(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if len(set(names)) < len(names):
                raise InputError(f"{path} has two parts of the same name")
            return {
                name: json.loads(_content(archive, name, path))
                for name in (_CONFIGURATION, _METADATA)
                if name in names or name == _CONFIGURATION
            }
    except KeyError:
        raise InputError(f"{path} is no model of Keras: it has no {_CONFIGURATION}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {_CONFIGURATION} is not JSON: {error}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path} is no whole .keras archive: {error}") from error


def _content(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    if archive.getinfo(name).file_size > _MAX_CONFIGURATION_BYTES:
        raise InputError(f"{path}: {name} is too large to describe a network")
    return archive.read(name)


def _parts(configuration: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 (any JSON value)
    """Everything that Keras would make an object of."""
    return (part for part in objects_in(configuration) if isinstance(part.get("class_name"), str))


def _require_harmless(part: dict[str, Any], path: Path) -> None:
    class_name, module = part["class_name"], part.get("module")
    if class_name in _RUNNING_CLASSES:
        raise InputError(f"{path} cannot be packaged: {_RUNNING_CLASSES[class_name]}")
    if module is not None and not (isinstance(module, str) and _MODULES.fullmatch(module)):
        raise InputError(
            f"{path} cannot be packaged: its {class_name} comes from {module}, which is code "
            "outside of Keras's layers. Replace it by layers of Keras's, or convert the model to "
            "ONNX where that code is."
        )


_PASSING = {"Activation", "Softmax", "Dropout"}
"""Layers that give as many numbers as they take."""


def _outputs(configuration: Any) -> int | None:  # noqa: ANN401 (any JSON value)
    """None where the last layers do not tell, or the description is none."""
    try:
        described = configuration["config"]
        layers, named = described["layers"], described.get("output_layers")
        count = _of_graph(layers, named) if named else _of_row(layers)
    except (KeyError, IndexError, TypeError, AttributeError, StopIteration):
        return None
    return count if isinstance(count, int) else None


def _of_row(layers: Any) -> Any:  # noqa: ANN401 (any JSON value)
    making = next(layer for layer in reversed(layers) if layer["class_name"] not in _PASSING)
    return making["config"]["units"] if making["class_name"] == "Dense" else None


def _of_graph(layers: Any, named: Any) -> Any:  # noqa: ANN401 (any JSON value)
    name = named[0] if isinstance(named[0], str) else named[0][0]
    last = next(layer for layer in layers if layer["config"]["name"] == name)
    if last["class_name"] in _PASSING:
        return last["inbound_nodes"][0]["args"][0]["config"]["shape"][-1]
    return last["config"]["units"] if last["class_name"] == "Dense" else None


GRAPH_FILE = "saved_model.pb"
_TREE = {
    "saved_model": {2: "meta_graph"},
    "meta_graph": {2: "graph"},
    "graph": {1: "node", 2: "library"},
    "library": {1: "function"},
    "function": {3: "node"},
}
"""The fields of saved_model.proto in which operations are."""
_OPERATION = 2
"""The field of a node that names it."""
_REACHING_OUT = re.compile(
    r"\w*(PyFunc|Dataset|Iterator|Summary|FileReader|LineReader|RecordReader|LMDBReader)\w*"
    r"|ReadFile|WriteFile|MatchingFiles|FileSystemSetConfiguration|ImmutableConst|DumpTensor"
    r"|InitializeTableFromTextFile\w*|LoadAndRemapMatrix|GenerateVocabRemapping"
    r"|CalibrationStatisticsSaver|DistributedSave|(Debug|Print|Rpc|RemoteCall|WorkerHeartbeat)\w*"
    r"|_?Xla(HostCompute|CustomCall)\w*"
)
"""Operations beyond the graph; TensorFlow's own saving and restoring is not among them."""


def saved_model_source(folder: Path) -> Source:
    """The model of a SavedModel folder."""
    require_harmless_graph(folder / GRAPH_FILE, folder)
    metadata = ModelMetadata(name=folder.resolve().name)
    return Source(folder, "saved_model", _folder_sha256(folder), metadata)


def require_harmless_graph(graph_file: Path, shown: Path) -> None:
    """Refuse a graph with operations that read or write files, or call Python."""
    try:
        content = graph_file.read_bytes()
        operations = {
            content[field.start : field.end].decode()
            for kind, fields in messages(content, _TREE, "saved_model")
            if kind == "node"
            for field in fields
            if field.number == _OPERATION
        }
    except OSError as error:
        raise InputError(f"{shown}: {GRAPH_FILE} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{shown}: {GRAPH_FILE} is no whole SavedModel: {error}") from error
    for operation in sorted(operations):
        if _REACHING_OUT.fullmatch(operation):
            raise InputError(
                f"{shown}: its graph has the operation {operation}, which reaches beyond the "
                "network; save the model without it"
            )


def _folder_sha256(folder: Path) -> str:
    """Of the names and contents of all files in a folder."""
    digest = hashlib.sha256()
    files = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    for path in sorted(files):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise InputError(f"{folder}: {name} is a symbolic link; give the files themselves")
        digest.update(f"{name} {file_sha256(path)}\n".encode())
    return digest.hexdigest()
