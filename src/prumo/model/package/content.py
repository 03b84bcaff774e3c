"""The files of a package: which there may be, and that they are the ones that were packed."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.files import file_sha256
from prumo.model.manifest import MANIFEST_FILE, SEEN_FILE

if TYPE_CHECKING:
    from prumo.model.manifest import Manifest

MAX_FILES = 1000
_VERSION_DIGITS = 12
_DECIDING = {"task", "labels", "input", "output", "points", "point", "network", "heat_map"}
_KNOWN = re.compile(
    r"manifest\.json|card\.md|seen\.txt"
    r"|(network|heat_map)\.(onnx|xml|bin|tflite|pt2)"
    r"|network/(saved_model|fingerprint|keras_metadata)\.pb"
    r"|network/variables/variables\.(index|data-\d{5}-of-\d{5})"
    r"|network/assets(\.extra)?/[\w.-]+"
)
_CODE = {".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".joblib", ".npy", ".npz", ".py", ".pyc", ".so"}


def require_known(name: str, shown: Path) -> None:
    """Refuse a file that no package has: one that could run, or that nobody asked for."""
    if _KNOWN.fullmatch(name) and PurePosixPath(name).suffix not in _CODE:
        return
    if PurePosixPath(name).suffix in _CODE:
        raise InputError(
            f"{shown} has {name!r} in it, which can run code when it is opened; a package holds "
            "only networks in the format of a runtime"
        )
    raise InputError(
        f"{shown} has {name!r} in it, which is no part of a package; take it out or pack the model "
        "again with `prumo model package`"
    )


def listed_files(folder: Path, shown: Path) -> list[str]:
    """All files of a package's folder but the manifest, each known and none of them a link."""
    names: list[str] = []
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(place, name)
            relative = path.relative_to(folder).as_posix()
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise InputError(
                    f"{shown}: {relative!r} is no ordinary file, as all in a package are"
                )
            if name in files:
                require_known(relative, shown)
                names.append(relative)
        if len(names) > MAX_FILES:
            raise InputError(f"{shown} has more than {MAX_FILES} files: it is no package")
    return sorted(set(names) - {MANIFEST_FILE})


def hashes(folder: Path, shown: Path) -> dict[str, str]:
    """The SHA-256 of every file but the manifest."""
    return {name: file_sha256(folder / name) for name in listed_files(folder, shown)}


def version_of(manifest: Manifest) -> str:
    """What tells two models of one name apart: a hash over all that decides on an answer."""
    deciding = manifest.model_dump(mode="json", include=_DECIDING)
    deciding["files"] = {
        name: digest
        for name, digest in manifest.files.items()
        if name not in {manifest.card, SEEN_FILE}
    }
    text = json.dumps(deciding, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_VERSION_DIGITS]


def require_unchanged(folder: Path, manifest: Manifest, shown: Path) -> None:
    """Refuse a package with a file that is missing, was added, or is another one."""
    found = listed_files(folder, shown)
    missing = sorted(manifest.files.keys() - found)
    if missing:
        raise InputError(f"{shown} is not whole: {', '.join(missing)} is missing")
    added = sorted(found - manifest.files.keys())
    if added:
        raise InputError(f"{shown} has files that its manifest does not know: {', '.join(added)}")
    for name, digest in manifest.files.items():
        if file_sha256(folder / name) != digest:
            raise InputError(
                f"{shown}: {name} is not the file that {MANIFEST_FILE} was written for: its "
                "SHA-256 is another. Pack the model again, or bring the file back."
            )
    require_named_parts(manifest, shown)
    if version_of(manifest) != manifest.version:
        raise InputError(
            f"{shown}: {MANIFEST_FILE} was changed after packing: its version {manifest.version} "
            "does not fit what it says. Pack the model again with other options instead."
        )


def require_named_parts(manifest: Manifest, shown: Path) -> None:
    """Refuse a manifest that speaks of a network or a card which is not among its files."""
    parts = [manifest.network.file]
    parts += [manifest.heat_map.network.file] if manifest.heat_map else []
    parts += [manifest.card] if manifest.card else []
    for part in parts:
        if part not in manifest.files and not any(
            name.startswith(f"{part}/") for name in manifest.files
        ):
            raise InputError(f"{shown}: {MANIFEST_FILE} names {part}, which is not in the package")
