"""Reading good photographs: sizes, colours, depths and orientations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import pytest
from PIL import ExifTags, Image, ImageOps

from prumo_retina.photograph import read_photograph
from support.fundus_factory import fundus

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_retina.photograph.pixels import Photograph

EYE = fundus(403, 302, grade=2).pixels
GREY = np.asarray(Image.fromarray(EYE).convert("L"))
WHOLE = 302
PRINTED_RED = (0, 255, 255, 0)
"""Cyan, magenta, yellow, black."""


def saved(path: Path, picture: Image.Image | np.ndarray, **options: Any) -> Path:
    if isinstance(picture, np.ndarray):
        picture = Image.fromarray(picture)
    picture.save(path, **options)
    return path


def difference(photograph: Photograph, expected: np.ndarray) -> float:
    assert photograph.pixels.shape == expected.shape
    return float(np.abs(photograph.pixels.astype(int) - expected).mean())


@pytest.mark.parametrize(
    ("wanted_pixels", "by"), [(1, 8), (38, 8), (39, 4), (76, 4), (77, 2), (152, 1), (5000, 1)]
)
@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif"])
def test_a_photograph_is_reduced_as_far_as_enough_remains(
    tmp_path: Path, name: str, wanted_pixels: int, by: int
) -> None:
    photograph = read_photograph(saved(tmp_path / name, EYE), wanted_pixels)

    assert (photograph.width, photograph.height) == (403, 302)
    assert photograph.scale == 1 / by
    assert photograph.pixels.dtype == np.uint8
    assert difference(photograph, np.asarray(Image.fromarray(EYE).reduce(by))) < 4


def test_a_lossless_file_gives_its_very_pixels(tmp_path: Path) -> None:
    for name in ("a.png", "a.tif"):
        photograph = read_photograph(saved(tmp_path / name, EYE), WHOLE)
        np.testing.assert_array_equal(photograph.pixels, EYE)
        assert photograph.pixels.flags.writeable


def test_the_content_decides_and_not_the_name(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.png", EYE).rename(tmp_path / "a.jpg")

    np.testing.assert_array_equal(read_photograph(file, WHOLE).pixels, EYE)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif"])
def test_a_photograph_is_turned_upright(tmp_path: Path, name: str, orientation: int) -> None:
    picture = Image.fromarray(EYE)
    picture.getexif()[ExifTags.Base.Orientation] = orientation
    upright = np.asarray(ImageOps.exif_transpose(picture))

    photograph = read_photograph(saved(tmp_path / name, picture, exif=picture.getexif()), WHOLE)

    assert (photograph.height, photograph.width) == upright.shape[:2]
    assert difference(photograph, upright) < 4


@pytest.mark.parametrize("name", ["a.jpg", "a.png"])
def test_broken_metadata_do_not_matter(tmp_path: Path, name: str) -> None:
    file = saved(tmp_path / name, EYE, exif=b"Exif\0\0no metadata at all")

    assert difference(read_photograph(file, WHOLE), EYE) < 4


@pytest.mark.parametrize("options", [{"progressive": True}, {"subsampling": 0}, {"quality": 30}])
def test_every_common_kind_of_jpeg_is_read(tmp_path: Path, options: dict[str, Any]) -> None:
    assert difference(read_photograph(saved(tmp_path / "a.jpg", EYE, **options), WHOLE), EYE) < 8


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.tif"])
def test_grey_becomes_three_equal_colours(tmp_path: Path, name: str) -> None:
    photograph = read_photograph(saved(tmp_path / name, GREY), WHOLE)

    assert difference(photograph, np.dstack([GREY] * 3)) < 3
    assert (photograph.pixels == photograph.pixels[..., :1]).all()


@pytest.mark.parametrize("name", ["a.jpg", "a.tif"])
@pytest.mark.parametrize(("wanted_pixels", "shape"), [(300, (300, 301, 3)), (1, (38, 38, 3))])
def test_inks_become_colours(
    tmp_path: Path, name: str, wanted_pixels: int, shape: tuple[int, ...]
) -> None:
    printed = Image.new("CMYK", (301, 300), PRINTED_RED)

    photograph = read_photograph(saved(tmp_path / name, printed), wanted_pixels)

    assert photograph.pixels.shape == shape
    assert np.abs(photograph.pixels.astype(int) - (255, 0, 0)).max() < 4


def test_a_palette_becomes_colours(tmp_path: Path) -> None:
    palette = Image.fromarray(EYE).quantize(64)

    photograph = read_photograph(saved(tmp_path / "a.png", palette), WHOLE)

    np.testing.assert_array_equal(photograph.pixels, np.asarray(palette.convert("RGB")))


@pytest.mark.parametrize("name", ["a.png", "a.tif"])
@pytest.mark.parametrize("pixels", [GREY, EYE], ids=["grey", "coloured"])
def test_sixteen_bits_are_scaled_to_eight(tmp_path: Path, name: str, pixels: np.ndarray) -> None:
    file = tmp_path / name
    deep = pixels.astype(np.uint16) * 257
    cv2.imwrite(str(file), deep if deep.ndim == 2 else deep[..., ::-1])

    expected = pixels if pixels.ndim > 2 else np.dstack([pixels] * 3)
    np.testing.assert_array_equal(read_photograph(file, WHOLE).pixels, expected)


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_what_is_transparent_is_black(tmp_path: Path, mode: str) -> None:
    picture = Image.new(mode, (64, 64), "white")
    picture.putalpha(0)

    assert read_photograph(saved(tmp_path / "a.png", picture), 64).pixels.max() == 0


def test_of_several_pages_the_first_is_read_and_said_so(tmp_path: Path) -> None:
    pages = [Image.fromarray(EYE), Image.fromarray(EYE[::-1])]
    file = saved(tmp_path / "a.tif", pages[0], save_all=True, append_images=pages[1:])

    photograph = read_photograph(file, WHOLE)

    np.testing.assert_array_equal(photograph.pixels, EYE)
    assert list(map(str, photograph.notes)) == ["has several pages: only the first is read"]


def test_a_jpeg_twenty_thousand_pixels_wide_is_read_small(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.jpg", Image.new("L", (20_000, 8_000), 90))

    photograph = read_photograph(file, 600)

    assert photograph.pixels.shape == (1000, 2500, 3)
    assert (photograph.width, photograph.height) == (20_000, 8_000)
