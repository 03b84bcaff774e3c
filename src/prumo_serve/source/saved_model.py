"""A SavedModel of TensorFlow's: a graph that must not touch files or run Python."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from prumo.errors import InputError
from prumo.files import file_sha256
from prumo_serve.source import Source, Told
from prumo_serve.source.protobuf import messages

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


def source(folder: Path) -> Source:
    """The model of a SavedModel folder."""
    require_harmless(folder / GRAPH_FILE, folder)
    name = folder.resolve().name
    return Source(
        path=folder, format="saved_model", sha256=folder_sha256(folder), told=Told(name=name)
    )


def require_harmless(graph_file: Path, shown: Path) -> None:
    """Refuse a graph with operations that read or write files, or call Python."""
    try:
        operations = _operations(graph_file.read_bytes())
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


def _operations(content: bytes) -> set[str]:
    return {
        content[field.start : field.end].decode()
        for kind, fields in messages(content, _TREE, "saved_model")
        if kind == "node"
        for field in fields
        if field.number == _OPERATION
    }


def folder_sha256(folder: Path) -> str:
    """Of the names and contents of all files in a folder."""
    digest = hashlib.sha256()
    files = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    for path in sorted(files):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise InputError(f"{folder}: {name} is a symbolic link; give the files themselves")
        digest.update(f"{name} {file_sha256(path)}\n".encode())
    return digest.hexdigest()
