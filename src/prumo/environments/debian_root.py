"""A framework from the packages of a Debian release, unpacked into a root folder of its own.

debootstrap finds, downloads and verifies the packages. They are only unpacked: none of their
scripts is run, so that neither root nor a chroot is needed, and what runs in the environment sees
the files of the machine under their own paths. The packages of a release that is no longer changed
are as good as a lock.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from prumo.environments.framework import CPU, Installation
from prumo.environments.store import python_of
from prumo.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prumo.environments.framework import Request
    from prumo.environments.session import Session
    from prumo.progress import Progress

MIRROR_VARIABLE = "PRUMO_DEBIAN_MIRROR"
MIRROR = "http://deb.debian.org/debian"
# A user's path often lacks the folders of the system's own programs.
_SYSTEM_PROGRAMS = ("/usr/sbin", "/sbin")
_UNPACK_ALL = """
root=$1
shift
for archive; do
    echo "$archive"
    dpkg-deb --extract "$archive" "$root" || exit 1
done
"""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class DebianRoot:
    """Which release has a framework, and under which names."""

    suite: str
    """The release: `bullseye`."""
    packages: tuple[str, ...]
    """The framework's own package first; what they need comes along."""
    version: str
    """The only version of the framework that the release has."""
    interpreter: str
    """Its Python: `python3.9`."""
    programs: tuple[str, ...] = ()
    """Programs of the framework that get a wrapper in `bin` beside `python`."""
    library_folders: tuple[str, ...] = ()
    """Folders of libraries that scripts of the packages would have linked, in order."""
    variants: tuple[str, ...] = (CPU,)
    labelled: bool = False

    def ingredients(self, request: Request) -> list[str]:
        """The release, the packages and the machine's architecture."""
        chosen = f"{self.suite} {request.version}+{request.label}"
        return [chosen, *self.packages, platform.machine()]

    def require(self, request: Request) -> None:
        """Linux, debootstrap, and the one version that the release has."""
        name = request.framework.name
        if sys.platform != "linux" or platform.machine() not in _ARCHITECTURES:
            raise UnavailableError(
                f"{name} cannot be set up: its packages are for Linux on "
                f"{' and '.join(_ARCHITECTURES)}"
            )
        if request.version != self.version or request.label:
            label = f"+{request.label}" if request.label else ""
            raise UnavailableError(
                f"{name} {request.version}{label} cannot be set up: Debian {self.suite} has "
                f"{self.version}, built for processors"
            )
        missing = [tool for tool in ("debootstrap", "dpkg-deb") if not _program(tool)]
        if missing:
            raise UnavailableError(
                f"{name} cannot be set up: it comes from Debian {self.suite}, which needs "
                f"{' and '.join(missing)}; on Debian and Ubuntu: "
                "apt install debootstrap debian-archive-keyring"
            )

    def install(
        self, request: Request, folder: Path, session: Session, progress: Progress
    ) -> Installation:
        """Download, unpack, and write the programs that start what was unpacked."""
        del request
        folder.mkdir()
        downloads = folder / "downloads"
        self._download(downloads, session, progress)
        archives = sorted(downloads.glob("var/cache/apt/archives/*.deb"))
        root = folder / "root"
        session.run(
            ["sh", "-c", _UNPACK_ALL, "sh", str(root), *map(str, archives)],
            environment=os.environ,
            failure="a package could not be unpacked",
            on_line=lambda line: progress.show(f"unpacking {line.rpartition('/')[2]}"),
        )
        shutil.rmtree(downloads)
        self._write_programs(folder, root)
        packages = _packages(archives)
        return Installation(
            build=packages[self.packages[0]],
            python_version=packages[self.interpreter].partition("-")[0],
            packages=packages,
        )

    def _download(self, downloads: Path, session: Session, progress: Progress) -> None:
        mirror = os.environ.get(MIRROR_VARIABLE, MIRROR)

        def follow(line: str) -> None:
            if line.startswith("I: "):
                progress.show(line.removeprefix("I: ").strip())

        session.run(
            [
                _program("debootstrap") or "debootstrap",
                "--variant=minbase",
                "--download-only",
                "--force-check-gpg",
                f"--arch={_ARCHITECTURES[platform.machine()]}",
                f"--include={','.join(self.packages)}",
                self.suite,
                str(downloads),
                mirror,
            ],
            environment=os.environ,
            failure=(
                f"debootstrap could not download Debian {self.suite} from {mirror}; "
                f"{MIRROR_VARIABLE} can name another mirror, such as "
                "http://archive.debian.org/debian"
            ),
            on_line=follow,
        )

    def _write_programs(self, folder: Path, root: Path) -> None:
        """Wrappers that start programs of the root folder with its own loader and libraries."""
        (loader,) = root.glob("lib/*-linux-gnu/ld-linux-*.so.*")
        triplet = loader.parent.name
        libraries = [
            *(root / "usr/lib" / triplet / name for name in self.library_folders),
            root / "lib" / triplet,
            root / "usr/lib" / triplet,
            root / "usr/lib",
        ]
        start = [str(loader), "--library-path", ":".join(map(str, libraries))]
        python = python_of(folder)
        python.parent.mkdir()
        _write_program(python, [*start, str(root / "usr/bin" / self.interpreter)])
        for name in self.programs:
            _write_program(python.with_name(name), [*start, str(root / "usr/bin" / name)])


def _program(name: str) -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_SYSTEM_PROGRAMS])
    return shutil.which(name, path=path)


def _write_program(path: Path, words: Iterable[str]) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def _packages(archives: Iterable[Path]) -> dict[str, str]:
    """Names and versions as the file names give them: `numpy_1%3a1.19.5-1_amd64.deb`."""
    parts = (unquote(archive.stem).split("_") for archive in archives)
    return {name: version for name, version, _ in parts}
