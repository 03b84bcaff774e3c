from __future__ import annotations

from typing import get_args

import cv2
import numpy as np
import pytest

from prumo_retina.fundus.choices import Enhancement
from prumo_retina.fundus.circle import Circle, CutOut, cut_out, disc
from prumo_retina.fundus.prepared import enhanced
from support.fundus_factory import fundus


@pytest.fixture(scope="module")
def cut() -> CutOut:
    """With its top and bottom outside of the photograph."""
    drawn = fundus(800, 532, grade=3)
    return cut_out(drawn.pixels, drawn.circle, 299)


@pytest.mark.parametrize("enhancement", get_args(Enhancement))
def test_every_enhancement_gives_pixels_of_the_same_kind_and_keeps_those_given(
    enhancement: Enhancement, cut: CutOut
) -> None:
    before = cut.pixels.copy()

    pixels = enhanced(cut, enhancement)

    assert pixels.shape == cut.pixels.shape
    assert pixels.dtype == np.uint8
    assert len(np.unique(pixels[~cut.visible])) == 1
    assert np.array_equal(cut.pixels, before)


def test_none_changes_nothing(cut: CutOut) -> None:
    assert np.array_equal(enhanced(cut, "none"), cut.pixels)


def test_graham_is_four_times_the_difference_from_the_local_average_around_grey() -> None:
    pixels = np.full((300, 300, 3), 100, np.uint8)
    pixels[150, 150] = (110, 100, 90)
    whole = CutOut(pixels, np.ones((300, 300), bool))

    found = enhanced(whole, "graham").astype(int)

    sigma = 150 / 30
    share = 1 / (2 * np.pi * sigma**2)
    assert found[150, 150] == pytest.approx(128 + 4 * np.array([10, 0, -10]) * (1 - share), abs=1)
    assert (found[100, 100] == 128).all()


def test_graham_leaves_grey_outside_of_nine_tenths_of_the_radius(cut: CutOut) -> None:
    pixels = enhanced(cut, "graham")

    assert (pixels[~disc(299, 0.9)] == 128).all()
    assert pixels[disc(299, 0.9) & cut.visible].std() > 10


def test_graham_does_not_shine_where_the_photograph_ends() -> None:
    even = cut_out(np.full((200, 300, 3), 120, np.uint8), Circle(150, 100, 130), 299)

    assert (enhanced(even, "graham") == 128).all()


def test_graham_evens_out_slow_changes_of_light(cut: CutOut) -> None:
    lit = np.linspace(0.4, 1, 299)[None, :, None]
    shaded = CutOut((cut.pixels * lit).astype(np.uint8), cut.visible)
    inner = disc(299, 0.5)

    left, right = (
        enhanced(shaded, "graham")[:, half][inner[:, half]].mean()
        for half in (slice(None, 150), slice(150, None))
    )

    assert left == pytest.approx(right, abs=3)


def test_clahe_raises_local_contrast_and_keeps_the_outside_black(cut: CutOut) -> None:
    dull = CutOut(cv2.convertScaleAbs(cut.pixels, alpha=0.4), cut.visible)
    inner = disc(299, 0.7)

    pixels = enhanced(dull, "clahe")

    assert pixels[inner].astype(float).std() > 1.2 * dull.pixels[inner].astype(float).std()
    assert not pixels[~cut.visible].any()
