from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.circle_overlap import intersection_over_union
from prumo_retina.fundus.circle import Circle


def test_a_circle_agrees_with_itself_in_full() -> None:
    circle = Circle(30.5, 20.25, 12.0)

    assert intersection_over_union(circle, circle) == pytest.approx(1)


def test_circles_that_do_not_touch_agree_in_nothing() -> None:
    assert intersection_over_union(Circle(0, 0, 5), Circle(10.1, 0, 5)) == 0


def test_a_circle_inside_of_another_agrees_by_its_share_of_the_area() -> None:
    assert intersection_over_union(Circle(0, 0, 10), Circle(3, 2, 5)) == pytest.approx(0.25)


def test_crossing_circles_agree_by_the_lens_between_them() -> None:
    lens = 2 * math.pi / 3 - math.sqrt(3) / 2  # of two unit circles through each other's middles

    overlap = intersection_over_union(Circle(7, 7, 1), Circle(7, 8, 1))

    assert overlap == pytest.approx(lens / (2 * math.pi - lens))


def test_agreement_is_what_counting_pixels_gives() -> None:
    one, other = Circle(400, 380, 300), Circle(520, 450, 210)
    y, x = np.mgrid[0:1000, 0:1000] + 0.5
    first = np.hypot(x - one.x, y - one.y) <= one.radius
    second = np.hypot(x - other.x, y - other.y) <= other.radius

    counted = (first & second).sum() / (first | second).sum()

    assert intersection_over_union(one, other) == pytest.approx(counted, abs=1e-3)
    assert intersection_over_union(other, one) == pytest.approx(counted, abs=1e-3)


def test_a_scaled_circle_is_the_same_in_a_photograph_of_another_size() -> None:
    assert Circle(100, 60, 40).scaled(0.25) == Circle(25, 15, 10)
