"""Heat maps over photographs, as pictures for people."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import cv2
import simplejpeg

from prumo.report.file import write_file
from prumo_retina.dataset.folder import without_suffix
from prumo_serve.heat_map import overlay

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np

# File systems take 255 bytes; what is told of a heat map and of its writing comes after it.
_NAME_BYTES = 200


def write_overlay(path: Path, jpeg: Path, heat_map: np.ndarray) -> Path:
    """Write a prepared photograph with its heat map as PNG, without any metadata; its path."""
    pixels = simplejpeg.decode_jpeg(jpeg.read_bytes(), colorspace="RGB")
    picture = cv2.cvtColor(overlay(pixels, heat_map), cv2.COLOR_RGB2BGR)
    _, png = cv2.imencode(".png", picture)
    return write_file(path, png.tobytes())


def overlay_names(files: Sequence[Path]) -> list[str]:
    """A file name for the heat map of each file: files of one name are told apart by a number."""
    seen: Counter[str] = Counter()
    names = []
    for file in files:
        name = _short(without_suffix(file.name))
        seen[name.lower()] += 1
        count = seen[name.lower()]
        names.append(f"{name}-heat-map{'' if count == 1 else f'-{count}'}.png")
    return names


def _short(name: str) -> str:
    data = os.fsencode(name)
    return name if len(data) <= _NAME_BYTES else data[:_NAME_BYTES].decode("utf-8", "ignore")
