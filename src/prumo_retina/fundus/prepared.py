"""Ways to even out light and contrast of a fundus before a network sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
import simplejpeg

from prumo_retina.fundus.cut_out import cut_out, disc
from prumo_retina.fundus.find import find_fundus
from prumo_retina.fundus.inspection import NO_FUNDUS, inspected
from prumo_retina.fundus.preparation import JUDGED_SIZE

if TYPE_CHECKING:
    from prumo_retina.fundus.circle import Circle
    from prumo_retina.fundus.cut_out import CutOut
    from prumo_retina.fundus.preparation import Enhancement, Preparation
    from prumo_retina.fundus.quality import Quality
    from prumo_retina.photograph.pixels import Photograph


GRAHAM_WEIGHT = 4
GRAHAM_GREY = 128
GRAHAM_SIGMA = 1 / 30
GRAHAM_KEPT = 0.9
"""Weight of detail, level of no detail, and as shares of the radius the average's sigma and what is
kept (B. Graham, Kaggle Diabetic Retinopathy Detection competition report, 2015)."""
CLAHE_CLIP_LIMIT = 2.0
CLAHE_TILES = 8


def enhanced(fundus: CutOut, enhancement: Enhancement) -> np.ndarray:
    """The pixels of a fundus after an enhancement."""
    if enhancement == "graham":
        return _graham(fundus)
    if enhancement == "clahe":
        return _clahe(fundus)
    return fundus.pixels


def _graham(fundus: CutOut) -> np.ndarray:
    """Four times the difference from the local average, around grey; grey where there is no fundus.

    The average is over the fundus alone: over black too, cut edges would shine like lesions.
    """
    radius = len(fundus.pixels) / 2
    visible = fundus.visible.astype(np.float32)
    pixels = fundus.pixels.astype(np.float32)
    sigma = GRAHAM_SIGMA * radius
    share = cv2.GaussianBlur(visible, (0, 0), sigma)
    average = cv2.GaussianBlur(pixels, (0, 0), sigma) / np.maximum(share, 1e-3)[..., None]
    detail = GRAHAM_WEIGHT * (pixels - average) + GRAHAM_GREY
    kept = fundus.visible & disc(len(pixels), GRAHAM_KEPT)
    return np.where(kept[..., None], detail.round().clip(0, 255), GRAHAM_GREY).astype(np.uint8)


def _clahe(fundus: CutOut) -> np.ndarray:
    """Histograms of tiles evened out, up to a limit, in lightness alone (Zuiderveld 1994)."""
    lab = cv2.cvtColor(fundus.pixels, cv2.COLOR_RGB2LAB)
    evening = cv2.createCLAHE(CLAHE_CLIP_LIMIT, (CLAHE_TILES, CLAHE_TILES))
    lab[..., 0] = evening.apply(lab[..., 0])
    pixels = cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)
    pixels[~fundus.visible] = 0
    return pixels


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
