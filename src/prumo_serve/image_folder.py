"""Images of a folder as a model's network sees them: photographs, or those prepared before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prumo.datasets.threads import in_threads
from prumo.errors import DataError, InputError
from prumo.files import file_sha256
from prumo_retina.dataset.data_folder import difference, is_prepared, read_preparation
from prumo_retina.dataset.folder import find_photographs
from prumo_retina.dataset.manifest import read_manifest
from prumo_retina.fundus.preparation import Preparation
from prumo_serve.manifest import FundusPreprocessing
from prumo_serve.preprocessing import MOST_PIXELS, PreparedImage, preprocessing
from prumo_serve.preprocessing.decoding import BadImageError, decoded
from prumo_serve.preprocessing.tensor import TensorForm

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from pathlib import Path

    import numpy as np

    from prumo_serve.manifest import Manifest


@dataclass(frozen=True)
class ImageFolder:
    """Where images are, and whether a preparation has made them."""

    path: Path
    files: Mapping[str, Path]
    """By the name inside the folder, in the order of these."""
    is_prepared: bool = False
    """Then the pixels of a file are the network's, and only gradable ones are listed."""
    photograph_sha256s: Mapping[str, str] = field(default_factory=dict)
    """By the name inside the folder, of those that were prepared: before that."""

    def sha256(self, name: str) -> str:
        """Of a photograph as it was taken."""
        if self.is_prepared:
            return self.photograph_sha256s.get(name, "")
        return file_sha256(self.files[name])


@dataclass(frozen=True)
class NetworkImage:
    """What a network is given of a file."""

    name: str
    pixels: np.ndarray | None
    """In the network's layout and type without the batch's axis; None where there are none."""
    is_ungradable: bool = False
    """Whether it is a photograph that nobody can judge, not a file that cannot be read."""


def find_images(path: Path, manifest: Manifest) -> ImageFolder:
    """The images of a folder and all folders in it, or of one that `prumo retina prepare` made.

    Raises:
        InputError: There is no such folder, or no image in it.
        DataError: The folder was prepared otherwise than the model's photographs.
    """
    if not is_prepared(path):
        return ImageFolder(path, find_photographs(path).photographs)
    require_same_preparation(path, manifest)
    entries = [entry for entry in read_manifest(path) if entry.output]
    files = {entry.name: path / entry.output for entry in entries if entry.verdict.is_gradable}
    if not files:
        raise InputError(f"{path} holds no photograph that can be judged")
    return ImageFolder(path, files, is_prepared=True)


def require_same_preparation(path: Path, manifest: Manifest) -> None:
    """Refuse prepared photographs that do not look as those that the model has learnt from."""
    how = manifest.input.preprocessing
    if not isinstance(how, FundusPreprocessing):
        raise DataError(
            f"{path} holds prepared photographs of fundi, but {manifest.name} takes plain images"
        )
    found, needed = read_preparation(path), Preparation.model_validate(how.preparation)
    if found != needed:
        raise DataError(
            f"{path} was prepared with {difference(found, needed)}, so {manifest.name} would see "
            "other pixels than it has learnt from; give the photographs themselves"
        )


def network_images(
    folder: ImageFolder, names: Iterable[str], manifest: Manifest
) -> Generator[NetworkImage]:
    """The named images one after the other, prepared on all cores, never many of them at once."""
    prepared = _as_it_is(manifest) if folder.is_prepared else preprocessing(manifest).prepared

    def read(name: str) -> NetworkImage:
        try:
            pixels = prepared(folder.files[name].read_bytes()).pixels
        except (OSError, BadImageError):
            return NetworkImage(name, None)
        return NetworkImage(name, pixels, is_ungradable=pixels is None)

    return in_threads(read, names)


def _as_it_is(manifest: Manifest) -> Callable[[bytes], PreparedImage]:
    """For images that were prepared before."""
    form = TensorForm(manifest.input)
    size = manifest.input.width, manifest.input.height

    def prepared(image: bytes) -> PreparedImage:
        pixels = decoded(image, MOST_PIXELS)
        height, width = pixels.shape[:2]
        if (width, height) != size:
            raise DataError(
                f"a prepared photograph has {width} by {height} pixels, but the network takes "
                f"{size[0]} by {size[1]}"
            )
        return PreparedImage(form.of(pixels), pixels, width, height)

    return prepared
