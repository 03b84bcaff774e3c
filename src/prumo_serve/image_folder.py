"""Images of a folder as a model's network sees them: as they are, or prepared before."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.datasets.source import in_threads
from prumo.errors import DataError, InputError
from prumo.files import file_sha256
from prumo.images import JPEG_MARK, PNG_MARK
from prumo_serve.preprocessing import TensorForm
from prumo_serve.preprocessing.decoding import BadImageError, decoded
from prumo_serve.task import MOST_PIXELS, installed_tasks, preprocessing

if TYPE_CHECKING:
    import numpy as np

    from prumo_serve.manifest import Input, Manifest

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SUFFIXES = (".jpe", ".jpeg", ".jpg", ".png")


@dataclass(frozen=True)
class ImageFolder:
    """Where images are, and whether a preparation has made them."""

    path: Path
    files: Mapping[str, Path]
    """By the name inside the folder, in the order of these."""
    is_prepared: bool = False
    """Then the pixels of a file are the network's, and only gradable ones are listed."""
    original_sha256s: Mapping[str, str] = field(default_factory=dict)
    """By the name inside the folder, of those that were prepared: before that."""

    def sha256(self, name: str) -> str:
        """Of an image as it was before any preparation."""
        if self.is_prepared:
            return self.original_sha256s.get(name, "")
        return file_sha256(self.files[name])


@dataclass(frozen=True)
class NetworkImage:
    """What a network is given of a file."""

    name: str
    pixels: np.ndarray | None
    """In the network's layout and type without the batch's axis; None where there are none."""
    is_ungradable: bool = False
    """Whether it is an image that nobody can judge, not a file that cannot be read."""


def find_images(path: Path, manifest: Manifest) -> ImageFolder:
    """The images of a folder and all folders in it, or of one that a task's own tools prepared."""
    for task in installed_tasks():
        if (found := task.prepared_images(path, manifest)) is not None:
            return found
    if not path.is_dir():
        problem = "is a file" if path.exists() else "does not exist"
        raise InputError(f"{path} {problem}: give the folder that holds the images")
    files = {shown_name(file, path): file for file in walk_files(path) if _is_image(file)}
    if not files:
        raise InputError(
            f"{path} holds no images: no file ends in {', '.join(_SUFFIXES)} or begins as one"
        )
    return ImageFolder(path, dict(sorted(files.items())))


def walk_files(
    root: Path,
    why_skip: Callable[[Path], str] = lambda _folder: "",
    left_out: list[str] | None = None,
) -> Iterator[Path]:
    """All files of a folder and of those in it, through links too.

    `why_skip` gives a reason not to look into a folder, or nothing; `left_out` gets the folders
    that were not looked into, each with the reason.
    """
    reasons = [] if left_out is None else left_out
    seen: set[str] = set()
    walk = os.walk(
        root,
        followlinks=True,
        onerror=lambda error: reasons.append(f"{error.filename}: {error.strerror}"),
    )
    for place, folders, names in walk:
        # A link to a folder above would lead around in circles.
        if (real := os.path.realpath(place)) in seen:
            folders.clear()
            continue
        seen.add(real)
        if reason := why_skip(folder := Path(place)):
            reasons.append(f"{place}: {reason}")
            folders.clear()
            continue
        folders.sort()
        yield from (folder / name for name in names)


def shown_name(file: Path, folder: Path) -> str:
    """The path inside the folder as text on one line, whatever bytes a name has."""
    text = os.fsencode(file.relative_to(folder).as_posix()).decode("utf-8", "backslashreplace")
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _is_image(file: Path) -> bool:
    # Other systems put their own notes beside a file, such as `._1.jpg`.
    if file.name.startswith("."):
        return False
    if file.suffix.lower() in _SUFFIXES:
        return True
    try:
        with file.open("rb") as opened:
            return opened.read(len(PNG_MARK)).startswith((JPEG_MARK, PNG_MARK))
    except OSError:
        return False


def network_images(
    folder: ImageFolder, names: Iterable[str], manifest: Manifest
) -> Generator[NetworkImage]:
    """The named images one after the other, prepared on all cores, never many of them at once."""
    wanted = manifest.input
    form = TensorForm(wanted)
    fresh = None if folder.is_prepared else preprocessing(manifest)

    def read(name: str) -> NetworkImage:
        try:
            content = folder.files[name].read_bytes()
            pixels = (
                fresh.prepared(content).pixels if fresh else form.of(_prepared(content, wanted))
            )
        except (OSError, BadImageError):
            return NetworkImage(name, None)
        return NetworkImage(name, pixels, is_ungradable=pixels is None)

    return in_threads(read, names)


def _prepared(content: bytes, wanted: Input) -> np.ndarray:
    """The pixels of an image that was prepared before."""
    pixels = decoded(content, MOST_PIXELS)
    height, width = pixels.shape[:2]
    if (height, width) != (wanted.height, wanted.width):
        raise DataError(
            f"a prepared image has {width} by {height} pixels, but the network takes "
            f"{wanted.width} by {wanted.height}"
        )
    return pixels
