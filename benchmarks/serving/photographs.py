"""Photographs to send: drawn, so that the benchmark needs no data set."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 224
# With this many patches a JPEG of the size has 16 kB, as a fundus photograph of it does.
_PATCHES = 28
_QUALITY = 90


def drawn_photographs(number: int) -> list[bytes]:
    """JPEG files of coloured patches, all different and the same in every run."""
    return [_drawn(np.random.default_rng(seed)) for seed in range(number)]


def write_photographs(folder: Path, number: int) -> None:
    """The same as files, for a calibration."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, content in enumerate(drawn_photographs(number)):
        (folder / f"{index}.jpg").write_bytes(content)


def _drawn(rng: np.random.Generator) -> bytes:
    patches = rng.integers(0, 256, (_PATCHES, _PATCHES, 3), np.uint8)
    file = io.BytesIO()
    picture = Image.fromarray(patches).resize((SIZE, SIZE), Image.Resampling.BICUBIC)
    picture.save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()
