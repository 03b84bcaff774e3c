"""Ways to even out light and contrast of a fundus before a network sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from prumo.retina.fundus.cut_out import disc

if TYPE_CHECKING:
    from prumo.retina.fundus.cut_out import CutOut
    from prumo.retina.fundus.preparation import Enhancement

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
