from __future__ import annotations

from typing import get_args

import cv2
import numpy as np
import pytest

from benchmarks.circle_overlap import intersection_over_union
from benchmarks.fundus_faults import FAULTS
from prumo_retina.fundus.choices import Method
from prumo_retina.fundus.circle import Circle
from prumo_retina.fundus.find import find_fundus
from support.fundus_factory import Fundus, fundus, no_fundus

METHODS: tuple[Method, ...] = get_args(Method)
every_method = pytest.mark.parametrize("method", METHODS)


def overlap(found: Circle | None, truth: Circle) -> float:
    return intersection_over_union(found, truth) if found else 0.0


@pytest.fixture(scope="module")
def landscape() -> Fundus:
    """As a camera makes it: cut at the top and at the bottom."""
    return fundus(1072, 712, grade=3)


@every_method
@pytest.mark.parametrize("shape", [(1072, 712), (640, 640), (800, 600)])
def test_the_fundus_of_a_good_photograph_is_found(method: Method, shape: tuple[int, int]) -> None:
    drawn = fundus(*shape, grade=2)

    assert overlap(find_fundus(drawn.pixels, method), drawn.circle) > 0.98


@every_method
def test_the_circle_is_in_the_pixels_given_and_the_same_at_every_scale(
    method: Method, landscape: Fundus
) -> None:
    half = cv2.resize(landscape.pixels, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)

    found = find_fundus(half, method, 0.5)

    assert overlap(found, landscape.circle.scaled(0.5)) > 0.98


@every_method
def test_the_photograph_is_left_as_it_was(method: Method, landscape: Fundus) -> None:
    before = landscape.pixels.copy()

    find_fundus(landscape.pixels, method)

    assert np.array_equal(landscape.pixels, before)


@every_method
def test_the_same_photograph_gives_the_same_circle(method: Method, landscape: Fundus) -> None:
    assert find_fundus(landscape.pixels, method) == find_fundus(landscape.pixels, method)


@every_method
@pytest.mark.parametrize("shape", [(480, 640, 3), (40, 30, 3), (1, 1, 3), (1, 500, 3)])
def test_there_is_no_fundus_in_black(method: Method, shape: tuple[int, ...]) -> None:
    assert find_fundus(np.zeros(shape, np.uint8), method) is None


def test_the_contour_method_rejects_a_radius_of_100_pixels_of_the_whole_photograph() -> None:
    small = fundus(200, 200)

    assert find_fundus(small.pixels, "voets") is None
    assert find_fundus(small.pixels, "voets", 0.5) is not None


@pytest.mark.parametrize("fault", FAULTS)
def test_the_rim_is_found_in_spite_of(fault: str, landscape: Fundus) -> None:
    faulty = FAULTS[fault](landscape.pixels, landscape.circle)
    truth = landscape.circle
    moved = Circle(truth.x - faulty.left, truth.y - faulty.top, truth.radius)

    assert overlap(find_fundus(faulty.pixels, "rim"), moved) > 0.98


def test_no_fundus_is_looked_for_in_a_strip_that_is_longer_than_a_picture_can_be_sampled() -> None:
    strip = np.zeros((100, 33_000, 3), np.uint8)
    cv2.circle(strip, (16_000, 50), 40, (200, 90, 30), cv2.FILLED)

    assert find_fundus(strip, "rim") is None
    assert find_fundus(strip[:, 8_000:24_000], "rim") is not None


def test_a_notch_in_the_rim_does_not_move_it(landscape: Fundus) -> None:
    pixels, circle = landscape.pixels.copy(), landscape.circle
    edge = (
        round(circle.x + circle.radius * np.cos(0.5)),
        round(circle.y - circle.radius * np.sin(0.5)),
    )
    cv2.circle(pixels, edge, 20, (190, 90, 30), cv2.FILLED)

    assert overlap(find_fundus(pixels, "rim"), circle) > 0.99


def test_a_fundus_that_was_prepared_already_fills_its_square() -> None:
    side = 299
    y, x = np.mgrid[0:side, 0:side] + 0.5
    pixels = np.zeros((side, side, 3), np.uint8)
    pixels[np.hypot(x - side / 2, y - side / 2) <= side / 2] = (190, 95, 30)

    found = find_fundus(pixels, "rim")

    assert overlap(found, Circle(side / 2, side / 2, side / 2)) > 0.99


def _letters() -> np.ndarray:
    page = np.full((600, 800, 3), 240, np.uint8)
    for line in range(20):
        place = (20, 30 + 28 * line)
        cv2.putText(
            page, "every line of a letter", place, cv2.FONT_HERSHEY_SIMPLEX, 0.9, (0,) * 3, 2
        )
    return page


def _clouds(seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(100, 60, (8, 10)).astype(np.float32)
    grey = cv2.resize(noise, (800, 600), interpolation=cv2.INTER_CUBIC)
    return np.dstack([grey.clip(0, 255).astype(np.uint8)] * 3)


def _rectangle() -> np.ndarray:
    pixels = np.zeros((600, 800, 3), np.uint8)
    pixels[150:450, 200:600] = 180
    return pixels


@pytest.mark.parametrize(
    "pixels",
    [
        pytest.param(np.full((600, 800, 3), 255, np.uint8), id="white"),
        pytest.param(no_fundus(800, 600), id="closed lid"),
        pytest.param(_rectangle(), id="rectangle"),
        pytest.param(_rectangle()[:, :400], id="half a rectangle"),
        pytest.param(_letters(), id="letter"),
        pytest.param(_clouds(1), id="clouds"),
        pytest.param(_clouds(2), id="other clouds"),
        pytest.param(
            np.random.default_rng(1).integers(0, 256, (600, 800, 3), np.uint8), id="noise"
        ),
    ],
)
def test_what_has_no_rim_has_no_fundus(pixels: np.ndarray) -> None:
    assert find_fundus(pixels, "rim") is None
