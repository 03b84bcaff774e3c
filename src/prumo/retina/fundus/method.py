"""Where the fundus is in a photograph: one file per method, all behind `find_fundus`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.retina.fundus.rim import find_by_rim
from prumo.retina.fundus.voets import find_by_contour

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from prumo.retina.fundus.circle import Circle
    from prumo.retina.fundus.preparation import Method

_METHODS: dict[Method, Callable[[np.ndarray, float], Circle | None]] = {
    "rim": find_by_rim,
    "voets": find_by_contour,
}


def find_fundus(pixels: np.ndarray, method: Method, scale: float = 1.0) -> Circle | None:
    """Its circle in the given RGB pixels, or None; `scale` is theirs, as of a `Photograph`."""
    return _METHODS[method](pixels, scale)
