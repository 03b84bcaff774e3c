from __future__ import annotations

import cv2
import numpy as np
import pytest

from prumo.report.language import language
from prumo_retina.fundus.circle import Circle, CutOut, cut_out
from prumo_retina.fundus.preparation import JUDGED_SIZE, Verdict
from prumo_retina.fundus.prepared import (
    brightness_of,
    inspected,
    saturated_share_of,
    sharpness_of,
    visible_share_of,
)
from support.fundus_factory import Fundus, fundus


def seen(drawn: Fundus) -> CutOut:
    return cut_out(drawn.pixels, drawn.circle, JUDGED_SIZE)


def lit(drawn: Fundus, factor: float) -> Fundus:
    return Fundus(cv2.convertScaleAbs(drawn.pixels, alpha=factor), drawn.circle)


def grainy(drawn: Fundus, levels: float) -> Fundus:
    grain = np.random.default_rng(1).normal(0, levels, drawn.pixels.shape)
    return Fundus((drawn.pixels + grain).clip(0, 255).astype(np.uint8), drawn.circle)


@pytest.mark.parametrize("shape", [(1600, 1064), (900, 900), (800, 600)])
@pytest.mark.parametrize("grade", [0, 4])
def test_a_good_photograph_is_good_also_where_a_camera_cuts_top_and_bottom(
    shape: tuple[int, int], grade: int
) -> None:
    quality = inspected(seen(fundus(*shape, grade=grade)))

    assert (quality.verdict, quality.reason) == (Verdict.GOOD, "")
    assert quality.verdict.is_gradable


@pytest.mark.parametrize(
    ("drawn", "verdict", "reason"),
    [
        (
            fundus(1072, 712, brightness=0.1),
            Verdict.TOO_DARK,
            "median brightness 17 of 255, at least 40 is needed",
        ),
        (
            lit(fundus(1072, 712), 4),
            Verdict.TOO_BRIGHT,
            "90 % of the fundus is as bright as a photograph can be, at most 3 % may be",
        ),
        (
            fundus(1072, 712, blur=0.03),
            Verdict.BLURRED,
            "fine detail is 0.15 of coarse detail, at least 0.33 is needed",
        ),
        (
            fundus(1072, 712, cut_off=0.3),
            Verdict.CUT_OFF,
            "67 % of the fundus is in the photograph, at least 75 % must be",
        ),
    ],
)
def test_a_bad_photograph_is_told_with_the_figure_that_decided(
    drawn: Fundus, verdict: Verdict, reason: str
) -> None:
    quality = inspected(seen(drawn))

    assert (quality.verdict, str(quality.reason)) == (verdict, reason)
    assert not quality.verdict.is_gradable


def test_the_worst_fault_is_the_one_told() -> None:
    assert inspected(seen(fundus(1072, 712, brightness=0.1, blur=0.03))).verdict is Verdict.TOO_DARK
    assert inspected(seen(fundus(1072, 712, cut_off=0.3, blur=0.03))).verdict is Verdict.BLURRED


def test_a_fundus_of_which_only_a_strip_is_visible_is_cut_off_and_not_blurred() -> None:
    strip = np.full((33, 900, 3), 150, np.uint8)

    quality = inspected(cut_out(strip, Circle(450, 16, 390), JUDGED_SIZE))

    assert (quality.verdict, str(quality.reason)) == (
        Verdict.CUT_OFF,
        "5 % of the fundus is in the photograph, at least 75 % must be",
    )


@pytest.mark.parametrize(("share", "reason"), [(0.751, ""), (0.748, "74 % of the fundus")])
def test_a_figure_that_is_too_low_is_never_told_as_enough(share: float, reason: str) -> None:
    whole = seen(fundus(900, 900))
    places = np.flatnonzero(whole.visible)
    visible = np.zeros(whole.visible.size, bool)
    visible[places[: round(share * len(places))]] = True

    quality = inspected(CutOut(whole.pixels, visible.reshape(whole.visible.shape)))

    assert str(quality.reason).startswith(reason)
    assert quality.verdict.is_gradable == (not reason)


def test_the_reason_is_told_in_portuguese_too() -> None:
    quality = inspected(seen(fundus(1072, 712, blur=0.03)))

    told = language("pt-BR").told(quality.reason)

    assert told == "o detalhe fino é 0,15 do detalhe grosso, é preciso ao menos 0,33"


def test_sharpness_falls_with_every_blur() -> None:
    found = [sharpness_of(seen(fundus(1072, 712, blur=blur))) for blur in (0, 0.01, 0.02, 0.04)]

    assert found == sorted(found, reverse=True)


def test_sharpness_does_not_depend_on_light_contrast_or_resolution() -> None:
    drawn = fundus(1600, 1064, grade=2)
    usual = sharpness_of(seen(drawn))
    dim = Fundus(cv2.convertScaleAbs(drawn.pixels, alpha=0.5), drawn.circle)
    half = cv2.resize(drawn.pixels, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)

    assert sharpness_of(seen(dim)) == pytest.approx(usual, rel=0.05)
    assert sharpness_of(seen(Fundus(half, drawn.circle.scaled(0.5)))) == pytest.approx(
        usual, rel=0.05
    )


def test_grain_does_not_make_a_blurred_photograph_sharp() -> None:
    drawn = fundus(1072, 712, blur=0.03)

    assert inspected(seen(grainy(drawn, 5))).verdict is Verdict.BLURRED


@pytest.mark.parametrize("grade", [0, 4])
def test_a_little_grain_is_good_and_much_is_noisy(grade: int) -> None:
    drawn = fundus(1072, 712, grade=grade)

    assert inspected(seen(grainy(drawn, 4))).verdict is Verdict.GOOD
    for levels in (40, 100):
        quality = inspected(seen(grainy(drawn, levels)))
        assert quality.verdict is Verdict.NOISY
        assert str(quality.reason).endswith("of coarse detail, at most 1.30 may be")


def test_a_disc_of_nothing_but_noise_is_noisy() -> None:
    drawn = fundus(1072, 712)
    noise = np.random.default_rng(1).integers(0, 256, drawn.pixels.shape, np.uint8)

    assert inspected(seen(Fundus(noise, drawn.circle))).verdict is Verdict.NOISY


@pytest.mark.parametrize(("share", "verdict"), [(0.02, Verdict.GOOD), (0.04, Verdict.TOO_BRIGHT)])
def test_a_fundus_is_too_bright_when_green_is_at_its_end_in_a_part_of_it(
    share: float, verdict: Verdict
) -> None:
    whole = seen(fundus(900, 900))
    places = np.flatnonzero(whole.visible)
    pixels = whole.pixels.reshape(-1, 3).copy()
    pixels[places[: round(share * len(places))], 1] = 255

    saturated = CutOut(pixels.reshape(whole.pixels.shape), whole.visible)

    assert saturated_share_of(saturated) == pytest.approx(share, abs=0.005)
    assert inspected(saturated).verdict is verdict


def test_red_alone_at_its_end_is_no_fault() -> None:
    whole = seen(fundus(900, 900))
    pixels = whole.pixels.copy()
    pixels[..., 0][whole.visible] = 255

    assert inspected(CutOut(pixels, whole.visible)).verdict is Verdict.GOOD


def test_the_visible_share_is_that_of_the_disc() -> None:
    pixels = np.full((200, 300, 3), 120, np.uint8)

    assert visible_share_of(cut_out(pixels, Circle(150, 100, 90), JUDGED_SIZE)) == 1
    half_out = visible_share_of(cut_out(pixels, Circle(0, 100, 90), JUDGED_SIZE))
    assert half_out == pytest.approx(0.5, abs=0.01)


def test_brightness_is_that_of_the_brightest_channel_inside_of_the_fundus() -> None:
    pixels = np.zeros((200, 300, 3), np.uint8)
    cv2.circle(pixels, (150, 100), 90, (130, 60, 20), cv2.FILLED)

    assert brightness_of(cut_out(pixels, Circle(150.5, 100.5, 90), JUDGED_SIZE)) == 130


def test_an_even_field_without_any_detail_is_blurred() -> None:
    pixels = np.full((400, 400, 3), 120, np.uint8)

    assert inspected(cut_out(pixels, Circle(200, 200, 150), JUDGED_SIZE)).verdict is Verdict.BLURRED
