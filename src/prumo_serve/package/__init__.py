"""The archive that a model travels in, and its safe unpacking."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from prumo.errors import InputError
from prumo_serve.manifest import MANIFEST_FILE, SEEN_FILE
from prumo_serve.package.archive import is_archive_name, unpack
from prumo_serve.package.content import read_manifest, require_harmless, require_unchanged
from prumo_serve.package.writing import write_package

if TYPE_CHECKING:
    from types import TracebackType

    from prumo.progress import Progress
    from prumo_serve.manifest import Manifest

__all__ = ["Package", "is_package", "open_or_package", "open_package", "write_package"]


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def is_package(path: Path) -> bool:
    """Whether a path looks like a package; whether it is one, only opening it can tell."""
    return is_archive_name(path) or (path / MANIFEST_FILE).is_file()


def open_package(path: Path) -> Package:
    """The model in a folder or an archive, or an error that says what is wrong with it.

    An archive is unpacked into a temporary folder, which goes when the package is closed or the
    process ends.

    Raises:
        InputError: It is no package, or not whole, or has something in it that none may have.
    """
    if path.is_dir():
        return _opened(path)
    if not path.exists():
        raise InputError(f"there is no model {path}")
    unpacked = tempfile.TemporaryDirectory(prefix="prumo-model-")
    try:
        unpack(path, Path(unpacked.name))
        return _opened(Path(unpacked.name), shown=path, unpacked=unpacked)
    except BaseException:
        unpacked.cleanup()
        raise


def open_or_package(path: Path, progress: Progress) -> Package:
    """A package, or any model that tells enough about itself, packaged into the cache first."""
    if is_package(path):
        return open_package(path)
    # A server of packages never imports what converts.
    from prumo_serve.package.on_the_fly import packaged  # noqa: PLC0415

    return open_package(packaged(path, progress))


def _opened(
    folder: Path,
    *,
    shown: Path | None = None,
    unpacked: tempfile.TemporaryDirectory[str] | None = None,
) -> Package:
    manifest = read_manifest(folder, shown or folder)
    require_unchanged(folder, manifest, shown or folder)
    require_harmless(folder, manifest, shown or folder)
    return Package(folder, manifest, unpacked)
