"""A package's archive and the files in it: packed, unpacked safely, hashed and checked."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import mmap
import os
import re
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

from pydantic import ValidationError

from prumo.errors import InputError, StorageError
from prumo.files import file_sha256
from prumo.protobuf import messages
from prumo_serve.manifest import FORMAT, MANIFEST_FILE, SEEN_FILE, Manifest
from prumo_serve.runtimes import runtime_named

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

_MAX_BYTES = 4 * 1024 * 1024
"""Ours: a thousand labels take 30 kB."""
_REASONS = {
    "string_pattern_mismatch": "it is empty or too long, or has characters that it may not have"
}
"""By pydantic's names, where its own words would show people a regular expression."""

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

ENDINGS = (".tar.gz", ".tgz")
MAX_BYTES = 8 * 1024**3
"""Ours: the largest networks of this trade have two."""
_MAX_SWELLING = 100
"""Ours: weights shrink to nine tenths when packed, those of eight bits to a half."""
_FREE_BYTES = 16 * 1024**2
"""Small archives may swell more: text does."""
_LEVEL = 6
_CHUNK = 1024 * 1024
_TYPES = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
}


def require_known(name: str, shown: Path) -> None:
    """Refuse a file that no package has: one that could run, or that nobody asked for."""
    if PurePosixPath(name).suffix in _CODE:
        raise InputError(
            f"{shown} has {name!r} in it, which can run code when it is opened; a package holds "
            "only networks in the format of a runtime"
        )
    if not _KNOWN.fullmatch(name):
        raise InputError(
            f"{shown} has {name!r} in it, which is no part of a package; take it out or pack the "
            "model again with `prumo model package`"
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


def read_manifest(folder: Path, shown: Path) -> Manifest:
    """What a folder's manifest says; errors name the package as `shown`, as the user knows it."""
    document = _document(folder / MANIFEST_FILE, shown)
    version = document.get("format") if isinstance(document, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise InputError(
            f"{shown}: {MANIFEST_FILE} has format {version}, which is newer than this Prumo, "
            f"which reads {FORMAT}: update Prumo"
        )
    return validated(document, f"{shown}: {MANIFEST_FILE} is no manifest of a model")


def manifest_text(manifest: Manifest) -> str:
    """As it stands in the file: the same manifest, the same bytes."""
    return manifest.model_dump_json(indent=1) + "\n"


def validated(document: Any, complaint: str) -> Manifest:  # noqa: ANN401 (any JSON value)
    """A manifest that makes sense, or an error that tells its first mistake after a complaint."""
    try:
        return Manifest.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        reason = _REASONS.get(first["type"]) or first["msg"].removeprefix("Value error, ")
        text = f"{place}: {reason}" if place else reason
        raise InputError(f"{complaint}: {text}") from error


def _document(path: Path, shown: Path) -> Any:  # noqa: ANN401 (any JSON value)
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{shown}: {MANIFEST_FILE} is too large to be a manifest")
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"{shown} is no package: it has no {MANIFEST_FILE}. "
            "`prumo model package` makes one of a model."
        ) from None
    except OSError as error:
        raise InputError(f"{shown}: {MANIFEST_FILE} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shown}: {MANIFEST_FILE} is not JSON: {error}") from error


def require_harmless(folder: Path, manifest: Manifest, shown: Path) -> None:
    """Refuse networks that would open other files or run code when they are loaded."""
    for name in manifest.files:
        if name.endswith(_ONNX_ENDING):
            _require_one_file(folder / name, shown)
    networks = [manifest.network, *([manifest.heat_map.network] if manifest.heat_map else [])]
    for network in networks:
        runtime_named(network.runtime).require_harmless(folder / network.file, shown)


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


def is_archive_name(path: Path) -> bool:
    """Whether a file's name is that of an archive."""
    return path.name.endswith(ENDINGS)


def pack(manifest: bytes, folder: Path, names: Sequence[str], out: IO[bytes]) -> None:
    """Write files of a folder as tar.gz, without anything of the machine, the user or the hour.

    The manifest comes first: whoever only wants that need not read on.
    """
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=out, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        archive.addfile(_member(MANIFEST_FILE, len(manifest)), io.BytesIO(manifest))
        for name in names:
            with (folder / name).open("rb") as file:
                archive.addfile(_member(name, (folder / name).stat().st_size), file)


def unpack(path: Path, folder: Path) -> None:
    """Write an archive's files, if they are ordinary ones of a package, into an empty folder."""
    try:
        limit = min(MAX_BYTES, path.stat().st_size * _MAX_SWELLING + _FREE_BYTES)
        with gzip.open(path, "rb") as packed:
            _unpack(_BoundedReader(packed, limit, path), folder, path)
    except (gzip.BadGzipFile, EOFError, zlib.error, tarfile.TarError) as error:
        raise InputError(f"{path} is no whole tar.gz archive: {error}") from error
    except OSError as error:
        raise StorageError(f"{path} cannot be unpacked: {error.strerror or error}") from error


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o644
    return member


class _BoundedReader:
    """What a stream gives, up to a limit."""

    def __init__(self, stream: gzip.GzipFile, limit_bytes: int, shown: Path) -> None:
        self._stream = stream
        self._left = limit_bytes
        self._shown = shown

    def read(self, count: int) -> bytes:
        """At most so many bytes; fewer only at the end."""
        content = self._stream.read(count)
        self._left -= len(content)
        if self._left < 0:
            raise InputError(
                f"{self._shown} would swell to far more than a model has: not unpacked any further"
            )
        return content

    def chunks(self, count: int) -> Iterator[bytes]:
        """Exactly so many bytes, a part at a time."""
        while count > 0:
            content = self.read(min(count, _CHUNK))
            if not content:
                raise EOFError("it ends in the middle of a file")
            count -= len(content)
            yield content


def _unpack(reader: _BoundedReader, folder: Path, shown: Path) -> None:
    seen: set[str] = set()
    while (header := b"".join(reader.chunks(tarfile.BLOCKSIZE))).strip(b"\0"):
        member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
        name = _safe_name(member, shown)
        if name in seen:
            raise InputError(f"{shown} has {name!r} twice")
        seen.add(name)
        if len(seen) > MAX_FILES:
            raise InputError(f"{shown} has more than {MAX_FILES} files: it is no package")
        if not member.isdir():
            require_known(name, shown)
            _write(reader, member.size, folder / name)
    for content in iter(lambda: reader.read(_CHUNK), b""):
        if content.strip(b"\0"):
            raise InputError(f"{shown} has something behind its end")


def _safe_name(member: tarfile.TarInfo, shown: Path) -> str:
    """The member's name, if it is an ordinary file or folder below the archive's own."""
    if member.type in _TYPES:
        raise InputError(f"{shown}: {member.name!r} is {_TYPES[member.type]}; a package has none")
    if not (member.type in {tarfile.REGTYPE, tarfile.AREGTYPE} or member.isdir()):
        raise InputError(
            f"{shown} has headers that go beyond plain tar; pack it with `prumo model package`, or "
            "with tar --format=ustar"
        )
    if member.size < 0 or (member.isdir() and member.size):
        raise InputError(f"{shown}: {member.name!r} has a size that cannot be")
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or "\\" in member.name or "\0" in member.name:
        raise InputError(f"{shown}: {member.name!r} would be written outside of the package")
    return path.as_posix()


def _write(reader: _BoundedReader, size: int, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        for content in reader.chunks(size):
            file.write(content)
    for _ in reader.chunks(-size % tarfile.BLOCKSIZE):
        pass
