"""Heat maps over photographs, as pictures for people."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import cv2
import numpy as np
import simplejpeg

from prumo.report.file import write_file
from prumo_retina.dataset.folder import without_suffix

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Ours: enough colour to be read, and enough photograph to find one's way by its vessels.
_COLOUR_SHARE = 0.5
# Ours: what is outside of the fundus is black but for the traces that a JPEG leaves.
_BLACK = 10
# File systems take 255 bytes; what is told of a heat map and of its writing comes after it.
_NAME_BYTES = 200


def overlay(photograph: np.ndarray, heat_map: np.ndarray) -> np.ndarray:
    """The photograph (RGB) on the left; on the right the same in grey under the colours of heat.

    In grey, because a colour there should mean heat and nothing else. The colours are cividis,
    from blue over grey to yellow, which is read alike with and without colour blindness (Nuñez,
    Anderton and Renslow 2018).
    """
    height, width = photograph.shape[:2]
    heat = cv2.resize(heat_map.astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC)
    levels = np.round(255 * np.clip(heat, 0, 1)).astype(np.uint8)
    colours = cv2.cvtColor(cv2.applyColorMap(levels, cv2.COLORMAP_CIVIDIS), cv2.COLOR_BGR2RGB)
    grey = cv2.cvtColor(photograph, cv2.COLOR_RGB2GRAY)[..., None]
    mixed = np.round(grey * (1 - _COLOUR_SHARE) + colours * _COLOUR_SHARE).astype(np.uint8)
    mixed[photograph.max(axis=2) < _BLACK] = 0
    return np.concatenate([photograph, mixed], axis=1)


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
