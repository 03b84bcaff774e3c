"""A new package: an archive or a folder, whole or not at all."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from prumo.errors import InputError, StorageError
from prumo.files import write_whole
from prumo_serve.manifest import MANIFEST_FILE
from prumo_serve.package.archive import ENDINGS, is_archive_name, pack
from prumo_serve.package.content import (
    hashes,
    listed_files,
    manifest_text,
    read_manifest,
    require_named_parts,
    version_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_serve.manifest import Manifest

_ARCHIVES = (
    *(*ENDINGS, ".tar.bz2", ".tar.xz", ".tar.zst", ".tar", ".tbz2", ".txz", ".tzst"),
    *(".zip", ".7z", ".rar", ".gz", ".bz2", ".xz", ".zst"),
)


def write_package(content: Path, manifest: Manifest, out: Path) -> Manifest:
    """Write the files of a folder with a manifest; the same content gives the same bytes.

    `manifest.files` and `manifest.version` are found anew, and the manifest that was written is
    returned; one that lies in the folder stays as it is. `out` is an archive if it ends in .tar.gz
    or .tgz, else a folder. A package that is there already gives way to the new one; anything else
    is left alone.
    """
    require_package_name(out)
    whole = completed(content, manifest)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if is_archive_name(out):
            _write_archive(content, whole, out)
        else:
            _write_folder(content, whole, out)
    except OSError as error:
        raise StorageError.on_writing(out, error) from error
    return whole


def require_package_name(out: Path) -> None:
    """Refuse the name of another kind of archive, which would become a folder."""
    if is_archive_name(out):
        return
    ending = next((ending for ending in _ARCHIVES if out.name.lower().endswith(ending)), None)
    if ending:
        right = out.with_name(out.name[: -len(ending)] + ENDINGS[0])
        raise InputError(
            f"{out} would become a folder of that name: give {right} for an archive, or a name "
            f"without {ending} for a folder"
        )


def completed(content: Path, manifest: Manifest) -> Manifest:
    """A manifest with the hashes of the files in a folder, and with its version."""
    filed = manifest.model_copy(update={"files": hashes(content, content)})
    require_named_parts(filed, content)
    return filed.model_copy(update={"version": version_of(filed)})


def _write_archive(content: Path, manifest: Manifest, out: Path) -> None:
    if out.is_dir():
        raise InputError(f"{out} is a folder; give an archive another name")
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            pack(manifest_text(manifest).encode(), content, sorted(manifest.files), file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(out)
    finally:
        beside.unlink(missing_ok=True)


def _write_folder(content: Path, manifest: Manifest, out: Path) -> None:
    if out.is_file() or (out.is_dir() and not _may_give_way(out)):
        raise InputError(
            f"{out} is there already and is no package; give another --out, such as model.tar.gz"
        )
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        for name in manifest.files:
            target = beside / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(content / name, target)
        write_whole(beside / MANIFEST_FILE, manifest_text(manifest))
        _put_in_place(beside, out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _put_in_place(folder: Path, out: Path) -> None:
    if not out.exists():
        folder.rename(out)
        return
    former = out.with_name(f".{out.name}.{os.getpid()}.former")
    out.rename(former)
    try:
        folder.rename(out)
    except OSError:
        former.rename(out)
        raise
    shutil.rmtree(former)


def _may_give_way(folder: Path) -> bool:
    """Whether nothing in a folder is anybody's but a package's."""
    if not any(folder.iterdir()):
        return True
    try:
        read_manifest(folder, folder)
        listed_files(folder, folder)
    except InputError:
        return False
    return True
