"""A packaged model: opened only when it is whole, and written so that it is."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from prumo.errors import InputError, StorageError
from prumo.files import file_sha256, write_whole
from prumo_serve.manifest import MANIFEST_FILE, SEEN_FILE
from prumo_serve.package import archive

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo_serve.manifest import Manifest


_ARCHIVES = (
    *(*archive.ENDINGS, ".tar.bz2", ".tar.xz", ".tar.zst", ".tar", ".tbz2", ".txz", ".tzst"),
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
        if archive.is_archive_name(out):
            _write_archive(content, whole, out)
        else:
            _write_folder(content, whole, out)
    except OSError as error:
        raise StorageError.on_writing(out, error) from error
    return whole


def require_package_name(out: Path) -> None:
    """Refuse the name of another kind of archive, which would become a folder."""
    if archive.is_archive_name(out):
        return
    ending = next((ending for ending in _ARCHIVES if out.name.lower().endswith(ending)), None)
    if ending:
        right = out.with_name(out.name[: -len(ending)] + archive.ENDINGS[0])
        raise InputError(
            f"{out} would become a folder of that name: give {right} for an archive, or a name "
            f"without {ending} for a folder"
        )


def completed(content: Path, manifest: Manifest) -> Manifest:
    """A manifest with the hashes of the files in a folder, and with its version."""
    files = {name: file_sha256(content / name) for name in archive.listed_files(content, content)}
    filed = manifest.model_copy(update={"files": files})
    archive.require_named_parts(filed, content)
    return filed.model_copy(update={"version": archive.version_of(filed)})


def _write_archive(content: Path, manifest: Manifest, out: Path) -> None:
    if out.is_dir():
        raise InputError(f"{out} is a folder; give an archive another name")
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            archive.pack(
                archive.manifest_text(manifest).encode(), content, sorted(manifest.files), file
            )
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
        write_whole(beside / MANIFEST_FILE, archive.manifest_text(manifest))
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
        archive.read_manifest(folder, folder)
        archive.listed_files(folder, folder)
    except InputError:
        return False
    return True


@dataclass(frozen=True)
class Package:
    """A model that is whole: every file is the one that the manifest was written for."""

    folder: Path
    manifest: Manifest
    _unpacked: tempfile.TemporaryDirectory[str] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def network_path(self) -> Path:
        """The file or folder that the network's runtime loads."""
        return self.folder / self.manifest.network.file

    @property
    def network_bytes(self) -> int:
        """What the network takes on disk, without heat map and card."""
        # OpenVINO keeps the weights in a file beside the network's.
        stem = self.manifest.network.file.split(".", maxsplit=1)[0]
        return sum(
            (self.folder / name).stat().st_size
            for name in self.manifest.files
            if name.split("/", maxsplit=1)[0].split(".", maxsplit=1)[0] == stem
        )

    @property
    def heat_map_path(self) -> Path | None:
        """The file of the small network that makes heat maps, where there is one."""
        heat_map = self.manifest.heat_map
        return self.folder / heat_map.network.file if heat_map else None

    @property
    def card(self) -> str:
        """The model card in Markdown; empty where there is none."""
        name = self.manifest.card
        return (self.folder / name).read_text("utf-8", "replace") if name else ""

    @property
    def seen(self) -> frozenset[str] | None:
        """The SHA-256 of each photograph that the model was made from; None if nobody says."""
        if SEEN_FILE not in self.manifest.files:
            return None
        return frozenset((self.folder / SEEN_FILE).read_text("ascii", "replace").split())

    def close(self) -> None:
        """Remove what was unpacked; a folder of the user's stays."""
        if self._unpacked is not None:
            self._unpacked.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_package(path: Path) -> bool:
    """Whether a path looks like a package; whether it is one, only opening it can tell."""
    return archive.is_archive_name(path) or (path / MANIFEST_FILE).is_file()


def open_package(path: Path) -> Package:
    """The model in a folder or an archive, or an error that says what is wrong with it.

    An archive is unpacked into a temporary folder, which goes when the package is closed or the
    process ends.
    """
    if path.is_dir():
        return Package(path, _whole_manifest(path, path))
    if not path.exists():
        raise InputError(f"there is no model {path}")
    unpacked = tempfile.TemporaryDirectory(prefix="prumo-model-")
    folder = Path(unpacked.name)
    try:
        archive.unpack(path, folder)
        return Package(folder, _whole_manifest(folder, path), unpacked)
    except BaseException:
        unpacked.cleanup()
        raise


def open_or_package(path: Path, progress: Progress) -> Package:
    """A package, or any model that tells enough about itself, packaged into the cache first."""
    if is_package(path):
        return open_package(path)
    # A server of packages never imports what converts.
    from prumo_serve.package.making import packaged  # noqa: PLC0415

    return open_package(packaged(path, progress))


def _whole_manifest(folder: Path, shown: Path) -> Manifest:
    manifest = archive.read_manifest(folder, shown)
    archive.require_unchanged(folder, manifest, shown)
    archive.require_harmless(folder, manifest, shown)
    return manifest
