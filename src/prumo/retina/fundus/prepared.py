"""A photograph made ready for a network: its fundus fills a square and all else is black."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import simplejpeg

from prumo.retina.fundus.cut_out import cut_out
from prumo.retina.fundus.enhancement import enhanced
from prumo.retina.fundus.inspection import NO_FUNDUS, inspected
from prumo.retina.fundus.method import find_fundus
from prumo.retina.fundus.preparation import JUDGED_SIZE

if TYPE_CHECKING:
    import numpy as np

    from prumo.retina.fundus.circle import Circle
    from prumo.retina.fundus.preparation import Preparation
    from prumo.retina.fundus.quality import Quality
    from prumo.retina.photograph import Photograph


@dataclass(frozen=True)
class Prepared:
    """What a network sees of a photograph, and whether it may judge it."""

    quality: Quality
    circle: Circle | None = None
    """In pixels of the whole photograph; None when no fundus was found."""
    pixels: np.ndarray | None = None
    """A square of RGB bytes; None when no fundus was found."""


def prepared(photograph: Photograph, preparation: Preparation) -> Prepared:
    """Find the fundus, cut it out, judge and enhance it."""
    circle = find_fundus(photograph.pixels, preparation.method, photograph.scale)
    if circle is None:
        return Prepared(NO_FUNDUS)
    fundus = cut_out(photograph.pixels, circle, preparation.size)
    if preparation.size == JUDGED_SIZE:
        quality = inspected(fundus)
    else:
        quality = inspected(cut_out(photograph.pixels, circle, JUDGED_SIZE))
    pixels = enhanced(fundus, preparation.enhance)
    return Prepared(quality, circle.scaled(1 / photograph.scale), pixels)


def encoded(pixels: np.ndarray) -> bytes:
    """A JPEG of the best quality, with every pixel's own colour and no metadata."""
    jpeg: bytes = simplejpeg.encode_jpeg(
        pixels, quality=100, colorspace="RGB", colorsubsampling="444"
    )
    return jpeg
