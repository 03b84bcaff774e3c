"""A heat map over its photograph, as a picture that stands in a JSON document."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import cv2

from prumo_retina.prediction.overlay import overlay

if TYPE_CHECKING:
    import numpy as np


def heat_map_url(picture: np.ndarray, heat_map: np.ndarray) -> str:
    """A `data:` URL of a PNG: the photograph on the left, on the right the heat over it.

    Args:
        picture: What the network saw as RGB bytes, (row, column, channel).
        heat_map: From 0 to 1, (row, column), in a resolution of its own.
    """
    colours = cv2.cvtColor(overlay(picture, heat_map), cv2.COLOR_RGB2BGR)
    _, png = cv2.imencode(".png", colours)
    return f"data:image/png;base64,{base64.b64encode(png.tobytes()).decode()}"
