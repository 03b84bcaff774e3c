"""A PyTorch export (.pt2). PyTorch would unpickle and evaluate parts of it: those are taken out.

What decides on the network is a graph in JSON and arrays as plain bytes. Besides, an export has
example inputs as a pickle and guards as Python source, which are dropped; weights as pickles,
operations from outside of PyTorch's operators and sizes that are more than formulas are refused.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prumo.errors import InputError
from prumo_serve.source import Source, file_source, objects_in

_MAX_JSON_BYTES = 256 * 1024**2
_CHUNK = 1024 * 1024
_GRAPH = re.compile(r"[^/]+/models/[^/]+\.json")
_PAYLOADS = re.compile(r"[^/]+/data/(weights|constants)/[^/]+_config\.json")
_EXAMPLES = re.compile(r"[^/]+/data/sample_inputs/[^/]+\.pt")
_KNOWN = re.compile(
    r"[^/]+/(data/(weights|constants)/(weight|tensor)_\d+|archive_format|archive_version|version"
    r"|byteorder|\.data/(version|serialization_id)|\.format_version|\.storage_alignment)"
)
_OPERATOR = re.compile(
    r"torch\.ops\.(aten|prims|quantized_decomposed|torchvision)\.\w+\.\w+|torch\.sym_\w+"
    r"|_operator\.(getitem|add|sub|mul|floordiv|truediv|mod|pow|neg|eq|ne|le|lt|ge|gt|and_|or_|not_)"
    r"|math\.(floor|ceil|trunc|sqrt)"
)
_SYMBOL = re.compile(r"'[A-Za-z]\w*'")
_WORD = re.compile(r"[A-Za-z_]\w*")
_FORMULA = re.compile(r"[\w\s'+\-*/(),=<>]*")
_FORMULA_WORDS = {
    *("Symbol", "positive", "integer", "nonnegative", "True", "False", "Integer", "Add", "Mul"),
    *("Pow", "Max", "Min", "FloorDiv", "CleanDiv", "CeilDiv", "Mod", "PythonMod", "int_oo", "oo"),
    *("Eq", "Ne", "Le", "Lt", "Ge", "Gt", "evaluate"),
}

_CONTAINERS = (None, "builtins.tuple", "builtins.list", "builtins.dict")
_CONTAINER_FIELDS = ("in_spec", "out_spec")


def source(path: Path) -> Source:
    """The model of an export."""
    graph = next(content for name, content in _documents(path).items() if _GRAPH.fullmatch(name))
    version = graph.get("torch_version")
    versions = {"torch": version} if isinstance(version, str) else {}
    return file_source(path, "pytorch", versions, outputs=_outputs(graph))


def _outputs(document: Mapping[str, Any]) -> int | None:
    """How many numbers each image gets; None where the graph's only output does not tell."""
    try:
        graph = document["graph_module"]["graph"]
        (output,) = graph["outputs"]
        count = graph["tensor_values"][output["as_tensor"]["name"]]["sizes"][1]["as_int"]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return count if isinstance(count, int) else None


def write_harmless(path: Path, out: Path) -> None:
    """Copy an export without its pickles and its Python, always to the same bytes."""
    documents = _documents(path)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(out, "w") as copy:
        for name in sorted(archive.namelist()):
            # The time of a fresh entry is the first of 1980, whatever the clock says.
            entry = zipfile.ZipInfo(name)
            if _EXAMPLES.fullmatch(name):
                copy.writestr(entry, b"")
            elif name in documents:
                dropped: dict[str, Any] = {"guards_code": []} if _GRAPH.fullmatch(name) else {}
                copy.writestr(entry, json.dumps(documents[name] | dropped))
            else:
                with archive.open(name) as part, copy.open(entry, "w", force_zip64=True) as file:
                    shutil.copyfileobj(part, file, _CHUNK)


def require_harmless(path: Path) -> None:
    """Refuse an export in which anything is left that PyTorch would run."""
    for name, document in _documents(path).items():
        if _GRAPH.fullmatch(name) and document.get("guards_code"):
            raise InputError(f"{path} has Python source in it; pack the model again")
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if _EXAMPLES.fullmatch(entry.filename) and entry.file_size:
                raise InputError(f"{path} has a pickle in it; pack the model again")


def _documents(path: Path) -> dict[str, dict[str, Any]]:
    """Every JSON part of an export, when all of its parts are known and harmless."""
    try:
        with zipfile.ZipFile(path) as archive:
            documents = _read(archive, path)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no PyTorch export: {error}") from error
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path} is no whole PyTorch export: {error}") from error
    graphs = [document for name, document in documents.items() if _GRAPH.fullmatch(name)]
    if len(graphs) != 1:
        raise InputError(f"{path} has {len(graphs)} networks; an export to package has one")
    _require_known_operators(graphs[0], path)
    payloads = [document for name, document in documents.items() if _PAYLOADS.fullmatch(name)]
    if any(part.get("use_pickle") for part in objects_in(payloads)):
        raise InputError(f"{path} keeps weights as pickles, which run code when opened")
    return documents


def _read(archive: zipfile.ZipFile, path: Path) -> dict[str, dict[str, Any]]:
    documents: dict[str, dict[str, Any]] = {}
    names = archive.namelist()
    if len(set(names)) < len(names):
        raise InputError(f"{path} has two parts of the same name")
    for entry in archive.infolist():
        name = entry.filename
        if entry.compress_type != zipfile.ZIP_STORED:
            raise InputError(f"{path}: {name} is compressed, which PyTorch does not do")
        if _GRAPH.fullmatch(name) or _PAYLOADS.fullmatch(name):
            if entry.file_size > _MAX_JSON_BYTES:
                raise InputError(f"{path}: {name} is too large to describe a network")
            document = json.loads(archive.read(name))
            if not isinstance(document, dict):
                raise InputError(f"{path}: {name} describes nothing")
            documents[name] = document
        elif not (_EXAMPLES.fullmatch(name) or _KNOWN.fullmatch(name)):
            raise InputError(
                f"{path} has the part {name}, which an export of a network does not have. Save it "
                "with torch.export.save(torch.export.export(model, (example,)), 'model.pt2')."
            )
    return documents


def _require_known_operators(graph: Mapping[str, Any], path: Path) -> None:
    for part in objects_in(graph):
        target, formula = part.get("target"), part.get("expr_str")
        if "inputs" in part and isinstance(target, str) and not _OPERATOR.fullmatch(target):
            raise InputError(
                f"{path} calls {target}, which is no operator of PyTorch's; export the model "
                "without it, or convert it to ONNX where that code is"
            )
        if formula is not None and not _is_formula(formula):
            raise InputError(f"{path} has a size that is no formula: {str(formula)[:60]!r}")
        for name in _CONTAINER_FIELDS:
            if name in part and not _are_plain_containers(part[name]):
                raise InputError(
                    f"{path} takes or gives something else than tensors in tuples, lists and "
                    "dictionaries; export the model without it"
                )


def _are_plain_containers(text: object) -> bool:
    """Whether PyTorch makes it without an import: others name any module and class."""
    try:
        parts = objects_in(json.loads(str(text)))
    except (ValueError, RecursionError):
        return False
    return all(
        part.get("type") in _CONTAINERS and "{" not in str(part.get("context")) for part in parts
    )


def _is_formula(text: object) -> bool:
    """Whether sympy may evaluate it: sizes, numbers and arithmetic, and nothing else to call."""
    if not isinstance(text, str) or not _FORMULA.fullmatch(text):
        return False
    words = _WORD.findall(_SYMBOL.sub("", text))
    return "'" not in _SYMBOL.sub("", text) and all(word in _FORMULA_WORDS for word in words)
