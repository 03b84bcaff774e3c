from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import cv2
import numpy as np
import pytest
import simplejpeg
from PIL import Image

from benchmarks.circle_overlap import intersection_over_union
from prumo_retina.fundus.circle import Circle, cut_out, disc
from prumo_retina.fundus.preparation import Preparation, Verdict
from prumo_retina.fundus.prepared import encoded, prepared
from prumo_retina.photograph import read_photograph
from prumo_retina.photograph.pixels import Photograph
from support.fundus_factory import Fundus, fundus, no_fundus, write_photograph

if TYPE_CHECKING:
    from pathlib import Path


def photograph(pixels: np.ndarray) -> Photograph:
    height, width = pixels.shape[:2]
    return Photograph(pixels, width, height)


@pytest.fixture(scope="module")
def large() -> Fundus:
    return fundus(2144, 1424, grade=3)


@pytest.mark.parametrize("size", [64, 299, 512])
def test_the_fundus_fills_a_square_of_the_size_asked_for_and_all_else_is_black(
    size: int, large: Fundus
) -> None:
    result = prepared(photograph(large.pixels), Preparation(size=size))

    assert result.pixels is not None
    assert result.pixels.shape == (size, size, 3)
    assert not result.pixels[~disc(size)].any()
    middle_row = result.pixels[size // 2].max(axis=1)
    assert middle_row[3] > 60
    assert middle_row[-4] > 60


def test_what_is_outside_of_the_photograph_is_black(large: Fundus) -> None:
    result = prepared(photograph(large.pixels), Preparation())

    assert result.pixels is not None
    hidden = round(299 * (1 - 1424 / (2 * large.circle.radius)) / 2)
    assert not result.pixels[: hidden - 4].any()
    assert result.pixels[hidden + 4, 149].max() > 60


def test_circle_and_verdict_are_those_of_the_whole_photograph_at_every_decoded_scale(
    tmp_path: Path, large: Fundus
) -> None:
    path = write_photograph(tmp_path / "eye.jpg", large)

    whole = prepared(read_photograph(path, 1424), Preparation())
    reduced = prepared(read_photograph(path, Preparation().wanted_pixels), Preparation())

    assert whole.circle
    assert reduced.circle
    assert read_photograph(path, Preparation().wanted_pixels).scale == 0.5
    assert intersection_over_union(reduced.circle, large.circle) > 0.99
    assert intersection_over_union(reduced.circle, whole.circle) > 0.99
    assert whole.quality == reduced.quality
    assert whole.quality.verdict is Verdict.GOOD


def test_a_photograph_decoded_at_a_smaller_scale_gives_nearly_the_same_pixels(
    tmp_path: Path, large: Fundus
) -> None:
    path = write_photograph(tmp_path / "eye.jpg", large)

    whole = prepared(read_photograph(path, 1424), Preparation()).pixels
    reduced = prepared(read_photograph(path, Preparation().wanted_pixels), Preparation()).pixels

    assert whole is not None
    assert reduced is not None
    inner = disc(299, 0.95)
    assert np.abs(whole[inner].astype(int) - reduced[inner]).mean() < 2


@pytest.mark.parametrize("size", [64, 299, 1024])
def test_the_verdict_does_not_depend_on_the_size_asked_for(size: int) -> None:
    blurred = photograph(fundus(1072, 712, blur=0.02).pixels)

    assert prepared(blurred, Preparation(size=size)).quality.verdict is Verdict.BLURRED


def test_a_photograph_without_a_fundus_has_a_verdict_and_nothing_else() -> None:
    result = prepared(photograph(no_fundus(800, 600)), Preparation())

    assert result.quality.verdict is Verdict.NO_FUNDUS
    assert str(result.quality.reason) == "no round, bright field on a darker background"
    assert (result.circle, result.pixels) == (None, None)


def test_a_bad_photograph_is_prepared_all_the_same() -> None:
    result = prepared(photograph(fundus(1072, 712, brightness=0.1).pixels), Preparation())

    assert result.quality.verdict is Verdict.TOO_DARK
    assert result.pixels is not None


def test_an_enhancement_changes_the_pixels_and_not_the_verdict(large: Fundus) -> None:
    plain = prepared(photograph(large.pixels), Preparation())
    graham = prepared(photograph(large.pixels), Preparation(enhance="graham"))

    assert graham.quality == plain.quality
    assert graham.pixels is not None
    assert (graham.pixels[0, 0] == 128).all()


def test_small_lesions_are_averaged_and_never_skipped() -> None:
    pixels = np.full((1600, 1600, 3), 100, np.uint8)
    lesions = [(x, y) for x in range(400, 1200, 37) for y in range(400, 1200, 41)]
    for x, y in lesions:
        pixels[y : y + 2, x : x + 2] = 250

    cut = cut_out(pixels, Circle(800, 800, 750), 299).pixels[..., 0].astype(float)

    for x, y in lesions:
        row, column = (int((place + 1 - 50) * 299 / 1500) for place in (y, x))
        added = (cut[row - 1 : row + 2, column - 1 : column + 2] - 100).sum()
        assert added == pytest.approx(4 * 150 * (299 / 1500) ** 2, abs=5)


def test_a_fundus_smaller_than_the_square_is_enlarged() -> None:
    pixels = np.zeros((120, 120, 3), np.uint8)
    cv2.circle(pixels, (60, 60), 50, (190, 90, 30), cv2.FILLED)

    cut = cut_out(pixels, Circle(60.5, 60.5, 50), 299)

    assert (cut.pixels[149, 149] == (190, 90, 30)).all()
    assert cut.visible.sum() == disc(299).sum()


def test_the_jpeg_keeps_every_pixel_nearly_as_it_was_and_tells_nothing_else(large: Fundus) -> None:
    pixels = cut_out(large.pixels, large.circle, 299).pixels

    jpeg = encoded(pixels)

    with Image.open(BytesIO(jpeg)) as image:
        decoded = np.asarray(image)
        assert (image.format, image.mode) == ("JPEG", "RGB")
        assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
        assert not image.getexif()
    assert simplejpeg.decode_jpeg_header(jpeg)[3] == "444"
    assert np.abs(decoded.astype(int) - pixels).max() <= 6
