"""A heat map over its photograph, as a picture that stands in a JSON document."""

from __future__ import annotations

import base64

import cv2
import numpy as np

# Ours: enough colour to be read, and enough image to find one's way in it.
_COLOUR_SHARE = 0.5
# Ours: what a photograph leaves black is black but for the traces of a JPEG.
_BLACK = 10


def heat_map_url(picture: np.ndarray, heat_map: np.ndarray) -> str:
    """A `data:` URL of a PNG: what the network saw on the left, on the right the heat over it.

    The heat map goes from 0 to 1, in a resolution of its own.
    """
    colours = cv2.cvtColor(overlay(picture, heat_map), cv2.COLOR_RGB2BGR)
    _, png = cv2.imencode(".png", colours)
    return f"data:image/png;base64,{base64.b64encode(png.tobytes()).decode()}"


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
