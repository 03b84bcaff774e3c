"""Images from which the ranges of a network's numbers are learnt: drawn, prepared, kept on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import DataError, StorageError
from prumo.progress import Silent
from prumo_serve.image_folder import find_images, network_images

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_serve.manifest import Manifest

COUNT = 100
"""Ours: more of them show more extremes, and take longer."""
FEWEST = 10
"""Ours: ranges of fewer images depend on which ones they are."""
_SEED = 1
_FILE = "calibration.npy"


@dataclass(frozen=True)
class CalibrationImages:
    """Images as the network sees them, in a file, so that memory does not grow with them."""

    path: Path
    """A `.npy` of (image, …) in the network's layout and type."""
    count: int
    ungradable: int
    """Photographs that were drawn and left out because nobody can judge them."""
    unreadable: int
    progress: Progress = field(default_factory=Silent, repr=False, compare=False)
    """Who hears when they are gone through."""

    @property
    def array(self) -> np.ndarray:
        """All of them, read from the file where they are looked at."""
        images: np.ndarray = np.load(self.path, mmap_mode="r")
        return images

    def __iter__(self) -> Iterator[np.ndarray]:
        """Batches of a single image each."""
        images = self.array
        for place in range(self.count):
            self.progress.show("going through calibration images", f"{place + 1} of {self.count}")
            yield np.array(images[place : place + 1])


def drawn_images(
    folder: Path, manifest: Manifest, scratch: Path, progress: Progress, count: int = COUNT
) -> CalibrationImages:
    """Draw images of a folder, the same ones each time, until enough of them can be used.

    Args:
        folder: Images, or a folder that a task's own tools prepared.
        manifest: Of the model whose preprocessing they go through.
        scratch: Where the prepared ones are kept; it must outlive them.
        progress: Hears how far it is.
        count: How many are wanted; all that can be used when the folder has fewer.

    Raises:
        DataError: Fewer than `FEWEST` images can be used.
    """
    found = find_images(folder, manifest)
    names = sorted(found.files)
    order = np.random.default_rng(_SEED).permutation(len(names))
    tally = {"ungradable": 0, "unreadable": 0}
    writer = _Writer(scratch / _FILE, min(count, len(names)))
    images = network_images(found, (names[place] for place in order), manifest)
    try:
        for image in images:
            if image.pixels is None:
                tally["ungradable" if image.is_ungradable else "unreadable"] += 1
                continue
            writer.add(image.pixels)
            progress.show("preparing calibration images", f"{writer.count} of {count}")
            if writer.count == count:
                break
        writer.finish()
    except OSError as error:
        raise StorageError.on_writing(scratch / _FILE, error) from error
    finally:
        images.close()
    if writer.count < FEWEST:
        raise DataError(
            f"{folder} has {writer.count} images to calibrate with, and {tally['ungradable']} that "
            f"cannot be judged and {tally['unreadable']} that cannot be read; at least {FEWEST} "
            "are needed, better a hundred such as the model will be asked about"
        )
    return CalibrationImages(scratch / _FILE, writer.count, **tally, progress=progress)


class _Writer:
    """Writes images of one shape one by one into a `.npy` file with room for the most there are."""

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._most = most
        self._file: np.ndarray | None = None
        self.count = 0

    def add(self, pixels: np.ndarray) -> None:
        if self._file is None:
            self._file = np.lib.format.open_memmap(
                self._path, mode="w+", dtype=pixels.dtype, shape=(self._most, *pixels.shape)
            )
        self._file[self.count] = pixels
        self.count += 1

    def finish(self) -> None:
        """Cut off the room that was not needed."""
        if self._file is not None and self.count < self._most:
            beside = self._path.with_suffix(".part.npy")
            np.save(beside, self._file[: self.count])
            beside.replace(self._path)
