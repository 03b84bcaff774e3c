"""The models that are compared, each with a name that tells it from the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo_serve.package import open_or_package

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_serve.manifest import Manifest
    from prumo_serve.package import Package


@dataclass(frozen=True)
class Variant:
    """A package, and what it is called in tables and sentences."""

    name: str
    path: Path
    package: Package

    @property
    def manifest(self) -> Manifest:
        """Of the package."""
        return self.package.manifest

    @property
    def network_bytes(self) -> int:
        """What the network takes on disk, without heat map and card."""
        # OpenVINO keeps the weights in a file beside the network's.
        stem = self.manifest.network.file.split(".", maxsplit=1)[0]
        return sum(
            (self.package.folder / name).stat().st_size
            for name in self.manifest.files
            if name.split("/", maxsplit=1)[0].split(".", maxsplit=1)[0] == stem
        )


def opened_variants(
    paths: Sequence[Path], packages: ExitStack, progress: Progress
) -> tuple[Variant, ...]:
    """Open every model; archives stay unpacked until `packages` is closed.

    Raises:
        InputError: There is no model, one is given twice, or one cannot be opened.
    """
    if not paths:
        raise InputError("there is no model to measure: give one, or several to compare")
    again = [path for path, count in Counter(path.resolve() for path in paths).items() if count > 1]
    if again:
        raise InputError(f"{again[0]} is given twice; one model is measured once")
    names = _names(paths)
    return tuple(
        Variant(name, path, packages.enter_context(open_or_package(path, progress)))
        for name, path in zip(names, paths, strict=True)
    )


def _names(paths: Sequence[Path]) -> list[str]:
    """File names without their endings; where two are the same, the paths as they were given."""
    short = [path.resolve().name.removesuffix(".tgz").removesuffix(".tar.gz") for path in paths]
    counts = Counter(short)
    return [
        name if counts[name] == 1 else str(path) for name, path in zip(short, paths, strict=True)
    ]
