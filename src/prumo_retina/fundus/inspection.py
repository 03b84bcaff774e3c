"""A fundus looked at before a network judges it: is it lit, sharp, clean and whole enough?

Everything is measured on the fundus alone, scaled to one size: neither the camera's resolution nor
the size that a network wants changes a verdict.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import cv2
import numpy as np

from prumo.message import Message
from prumo_retina.fundus.circle import reduced
from prumo_retina.fundus.cut_out import disc
from prumo_retina.fundus.quality import Quality, Verdict

if TYPE_CHECKING:
    from prumo_retina.fundus.cut_out import CutOut

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


def inspected(fundus: CutOut) -> Quality:
    """The first verdict that a fundus of `JUDGED_SIZE` deserves, the worst first.

    A reason's figure is rounded away from its limit, so that none beyond it reads as within.
    """
    brightness = brightness_of(fundus)
    if brightness < LEAST_BRIGHTNESS:
        return Quality(
            Verdict.TOO_DARK,
            Message(
                "median brightness {brightness:.0f} of 255, at least {least} is needed",
                {"brightness": math.floor(brightness), "least": LEAST_BRIGHTNESS},
            ),
        )
    saturated = saturated_share_of(fundus)
    if saturated > MOST_SATURATED:
        return Quality(
            Verdict.TOO_BRIGHT,
            Message(
                "{percent:.0f} % of the fundus is as bright as a photograph can be, at most {most} "
                "% may be",
                {"percent": math.ceil(100 * saturated), "most": round(100 * MOST_SATURATED)},
            ),
        )
    sharpness = sharpness_of(fundus)
    if sharpness < LEAST_SHARPNESS:
        return Quality(
            Verdict.BLURRED,
            Message(
                "fine detail is {sharpness:.2f} of coarse detail, at least {least:.2f} is needed",
                {"sharpness": math.floor(100 * sharpness) / 100, "least": LEAST_SHARPNESS},
            ),
        )
    grain = grain_of(fundus)
    if grain > MOST_GRAIN:
        return Quality(
            Verdict.NOISY,
            Message(
                "grain is {grain:.2f} of coarse detail, at most {most:.2f} may be",
                {"grain": math.ceil(100 * grain) / 100, "most": MOST_GRAIN},
            ),
        )
    visible = visible_share_of(fundus)
    if visible < LEAST_VISIBLE:
        return Quality(
            Verdict.CUT_OFF,
            Message(
                "{percent:.0f} % of the fundus is in the photograph, at least {least} % must be",
                {"percent": math.floor(100 * visible), "least": round(100 * LEAST_VISIBLE)},
            ),
        )
    return Quality(Verdict.GOOD)


def brightness_of(fundus: CutOut) -> float:
    """Median over the fundus of its brightest channel, 0 to 255."""
    brightest = _brightest_channel(fundus)
    return float(np.median(brightest)) if brightest.size else 0.0


def saturated_share_of(fundus: CutOut) -> float:
    """Share of the fundus whose green is at its end.

    Lesions show in green; red alone at its end is usual with many cameras and hides nothing.
    """
    green = fundus.pixels[..., 1][fundus.visible]
    return float((green >= _SATURATED).mean()) if green.size else 0.0


def sharpness_of(fundus: CutOut) -> float:
    """Fine detail against coarse detail; a ratio, so light and contrast do not matter.

    Not a number when so little of the fundus is visible that nobody can tell.
    """
    part = _inner_part(fundus)
    green = fundus.pixels[..., 1].astype(np.float32)
    coarse = _coarse_detail(green, part)
    if not coarse or math.isnan(coarse):
        return coarse
    return _detail(green, _FINE_SIGMAS, part) / coarse


def grain_of(fundus: CutOut) -> float:
    """Strength of grain against coarse detail; a ratio, so light and contrast do not matter.

    A median, since grain is everywhere and edges are not. Not a number when so little of the fundus
    is visible that nobody can tell.
    """
    part = _inner_part(fundus)
    green = fundus.pixels[..., 1].astype(np.float32)
    coarse = _coarse_detail(green, part)
    if not coarse or math.isnan(coarse):
        return coarse
    finest = green - cv2.GaussianBlur(green, (0, 0), _FINEST_SIGMA * len(green) / 2)
    return float(np.median(np.abs(finest[part]))) / _MEDIAN_OF_NORMAL / coarse


def visible_share_of(fundus: CutOut) -> float:
    """Share of the fundus's disc that is inside of the photograph."""
    return float(fundus.visible.sum() / disc(len(fundus.visible)).sum())


def _brightest_channel(fundus: CutOut) -> np.ndarray:
    red, green, blue = cv2.split(fundus.pixels)
    brightest: np.ndarray = cv2.max(cv2.max(red, green), blue)[fundus.visible]
    return brightest


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
