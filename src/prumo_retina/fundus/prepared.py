"""A photograph prepared for a network: the fundus cut out, its quality judged, light evened out.

Quality is measured on the fundus alone, scaled to one size: neither the camera's resolution nor
the size that a network wants changes a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import gt, lt
from typing import TYPE_CHECKING, NamedTuple

import cv2
import numpy as np
import simplejpeg

from prumo.message import Message
from prumo_retina.fundus.circle import CutOut, cut_out, disc, reduced
from prumo_retina.fundus.find import find_fundus
from prumo_retina.fundus.preparation import JUDGED_SIZE, Quality, Verdict

if TYPE_CHECKING:
    from prumo_retina.fundus.choices import Enhancement
    from prumo_retina.fundus.circle import Circle
    from prumo_retina.fundus.preparation import Preparation
    from prumo_retina.photograph.pixels import Photograph

LEAST_BRIGHTNESS = 40
"""Median of the brightest channel. The darkest of 428 photographs from a clinic (IDRiD) has 57."""
MOST_SATURATED = 0.03
"""Share of the fundus whose green is at its end; the most of those 428 is 0.02."""
LEAST_SHARPNESS = 0.33
"""Fine detail as a share of coarse detail; one of those 428 has less, 0.20, and is blurred."""
MOST_GRAIN = 1.3
"""Grain as a share of coarse detail; the most of those 428 is 0.75."""
LEAST_VISIBLE = 0.75
"""Share of the fundus's disc. With top and bottom cut as cameras do, 0.92 is usual."""
_SATURATED = 250
"""Of 255: scaling and compression move a level that was at its end by a few."""
_FINEST_SIGMA = 0.0067
_FINE_SIGMAS = (0.0067, 0.0134)
_COARSE_SIGMAS = (0.0268, 0.0536)
"""Of the radius: what lies between two blurs is detail of that width, vessels and lesions here.
What is narrower than the finest is grain, except at their edges."""
_MEDIAN_OF_NORMAL = 0.6745
"""Median distance from the mean, in standard deviations (Rousseeuw and Croux 1993)."""
_JUDGED_PART = 0.85
"""Of the radius, away from the rim, which is sharp in every photograph."""
NO_FUNDUS = Quality(Verdict.NO_FUNDUS, Message("no round, bright field on a darker background"))
GRAHAM_WEIGHT = 4
GRAHAM_GREY = 128
GRAHAM_SIGMA = 1 / 30
GRAHAM_KEPT = 0.9
"""Weight of detail, level of no detail, and as shares of the radius the average's sigma and what is
kept (B. Graham, Kaggle Diabetic Retinopathy Detection competition report, 2015)."""
CLAHE_CLIP_LIMIT = 2.0
CLAHE_TILES = 8


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


def inspected(fundus: CutOut) -> Quality:
    """The first verdict that a fundus of `JUDGED_SIZE` deserves, the worst first.

    A reason's figure is rounded away from its limit, so that none beyond it reads as within.
    """
    for check in _CHECKS:
        found = check.measured(fundus)
        if check.is_beyond(found, check.limit):
            away = math.floor if found < check.limit else math.ceil
            rounded = away(found * check.steps) / check.steps
            figures = {"found": rounded * check.shown, "limit": check.limit * check.shown}
            return Quality(check.verdict, Message(_REASONS[check.verdict], figures))
    return Quality(Verdict.GOOD)


def brightness_of(fundus: CutOut) -> float:
    """Median over the fundus of its brightest channel, 0 to 255."""
    red, green, blue = cv2.split(fundus.pixels)
    brightest = cv2.max(cv2.max(red, green), blue)[fundus.visible]
    return float(np.median(brightest)) if brightest.size else 0.0


def saturated_share_of(fundus: CutOut) -> float:
    """Share of the fundus whose green is at its end.

    Lesions show in green; red alone at its end is usual with many cameras and hides nothing.
    """
    green = fundus.pixels[..., 1][fundus.visible]
    return float((green >= _SATURATED).mean()) if green.size else 0.0


def sharpness_of(fundus: CutOut) -> float:
    """Fine detail against coarse detail."""
    return _against_coarse_detail(fundus, lambda green, part: _detail(green, _FINE_SIGMAS, part))


def grain_of(fundus: CutOut) -> float:
    """Strength of grain against coarse detail: a median, since edges are not everywhere."""

    def strength(green: np.ndarray, part: np.ndarray) -> float:
        finest = green - cv2.GaussianBlur(green, (0, 0), _FINEST_SIGMA * len(green) / 2)
        return float(np.median(np.abs(finest[part]))) / _MEDIAN_OF_NORMAL

    return _against_coarse_detail(fundus, strength)


def visible_share_of(fundus: CutOut) -> float:
    """Share of the fundus's disc that is inside of the photograph."""
    return float(fundus.visible.sum() / disc(len(fundus.visible)).sum())


class _Check(NamedTuple):
    verdict: Verdict
    measured: Callable[[CutOut], float]
    is_beyond: Callable[[float, float], bool]
    limit: float
    steps: int = 100
    """Of the last digit that is shown, in one."""
    shown: int = 1
    """What one is shown as: 100 in percent."""


_CHECKS = (
    _Check(Verdict.TOO_DARK, brightness_of, lt, LEAST_BRIGHTNESS, steps=1),
    _Check(Verdict.TOO_BRIGHT, saturated_share_of, gt, MOST_SATURATED, shown=100),
    _Check(Verdict.BLURRED, sharpness_of, lt, LEAST_SHARPNESS),
    _Check(Verdict.NOISY, grain_of, gt, MOST_GRAIN),
    _Check(Verdict.CUT_OFF, visible_share_of, lt, LEAST_VISIBLE, shown=100),
)
_REASONS = {
    Verdict.TOO_DARK: "median brightness {found:.0f} of 255, at least {limit} is needed",
    Verdict.TOO_BRIGHT: "{found:.0f} % of the fundus is as bright as a photograph can be, at most "
    "{limit:.0f} % may be",
    Verdict.BLURRED: "fine detail is {found:.2f} of coarse detail, at least {limit:.2f} is needed",
    Verdict.NOISY: "grain is {found:.2f} of coarse detail, at most {limit:.2f} may be",
    Verdict.CUT_OFF: "{found:.0f} % of the fundus is in the photograph, at least {limit:.0f} % "
    "must be",
}


def _against_coarse_detail(
    fundus: CutOut, strength: Callable[[np.ndarray, np.ndarray], float]
) -> float:
    """A ratio, so light and contrast do not matter.

    Not a number when so little of the fundus is visible that nobody can tell.
    """
    part, green = _inner_part(fundus), fundus.pixels[..., 1].astype(np.float32)
    coarse = _coarse_detail(green, part)
    return coarse if not coarse or math.isnan(coarse) else strength(green, part) / coarse


def _coarse_detail(green: np.ndarray, part: np.ndarray) -> float:
    # Coarse detail is the same at half the size, and much faster there.
    half, _ = reduced(green, len(green) // 2)
    half_part = part[: 2 * len(half) : 2, : 2 * len(half) : 2]
    return _detail(half, _COARSE_SIGMAS, half_part) if half_part.any() else math.nan


def _detail(green: np.ndarray, sigmas: tuple[float, float], part: np.ndarray) -> float:
    """Strength of what is wider than the first blur and narrower than the second."""
    radius = len(green) / 2
    narrow, wide = (cv2.GaussianBlur(green, (0, 0), sigma * radius) for sigma in sigmas)
    return float(np.sqrt(np.square((narrow - wide)[part]).mean()))


def _inner_part(fundus: CutOut) -> np.ndarray:
    """Where no blur reaches over the rim or over the border of the photograph."""
    size = len(fundus.visible)
    reach = round(_COARSE_SIGMAS[1] * size / 2)
    far_from_border = cv2.erode(
        fundus.visible.astype(np.uint8),
        np.ones((2 * reach + 1, 2 * reach + 1), np.uint8),
        borderType=cv2.BORDER_CONSTANT,
        borderValue=1,
    )
    part: np.ndarray = disc(size, _JUDGED_PART) & (far_from_border > 0)
    return part
