"""Images from which the ranges of a network's numbers are learnt: drawn, prepared, kept on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from prumo.errors import DataError, StorageError
from prumo.progress import Silent
from prumo_serve.image_folder import find_images, network_images

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo_serve.manifest import Manifest

COUNT = 100
"""Ours: more of them show more extremes, and take longer."""
FEWEST = 10
"""Ours: ranges of fewer images depend on which ones they are."""
NEEDS_IMAGES = (
    "int8 learns from images how large the network's numbers get: give --calibration a folder of "
    "about a hundred, such as the model will be asked about and not those that it is judged on"
)
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
        return cast("np.ndarray", np.load(self.path, mmap_mode="r"))

    def __iter__(self) -> Iterator[np.ndarray]:
        """Batches of a single image each."""
        images = self.array
        for place in range(self.count):
            self.progress.show("going through calibration images", f"{place + 1} of {self.count}")
            yield np.array(images[place : place + 1])


def drawn_images(
    folder: Path, manifest: Manifest, scratch: Path, progress: Progress, count: int = COUNT
) -> CalibrationImages:
    """Draw images of a folder, the same ones each time, until `count` of them can be used.

    They go through the model's preprocessing, and are kept in `scratch`, which must outlive them.
    """
    found = find_images(folder, manifest)
    names = sorted(found.files)
    order = np.random.default_rng(_SEED).permutation(len(names))
    tally = {"ungradable": 0, "unreadable": 0}
    path, pixels_file = scratch / _FILE, scratch / "calibration.raw"
    used = 0
    images = network_images(found, (names[place] for place in order), manifest)
    try:
        with pixels_file.open("wb") as file, closing(images):
            for image in images:
                if image.pixels is None:
                    tally["ungradable" if image.is_ungradable else "unreadable"] += 1
                    continue
                file.write(image.pixels.tobytes())
                used += 1
                progress.show("preparing calibration images", f"{used} of {count}")
                if used == count:
                    break
        if used >= FEWEST:
            wanted = manifest.input
            shape = (used, *wanted.shape)
            np.save(path, np.memmap(pixels_file, wanted.dtype, "r", shape=shape))
            pixels_file.unlink()
    except OSError as error:
        raise StorageError.on_writing(path, error) from error
    if used < FEWEST:
        raise DataError(
            f"{folder} has {used} images to calibrate with, and {tally['ungradable']} that "
            f"cannot be judged and {tally['unreadable']} that cannot be read; at least {FEWEST} "
            "are needed, better a hundred such as the model will be asked about"
        )
    return CalibrationImages(path, used, **tally, progress=progress)
