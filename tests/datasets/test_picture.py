"""One image: what becomes of its mode, and when it is refused."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from prumo.datasets.formats import find_source
from prumo.errors import DataError
from support import data_files as files
from support.data_files import COLOURED, GREY

if TYPE_CHECKING:
    from pathlib import Path

NOISE = np.random.default_rng(3).integers(0, 256, size=(64, 64), dtype=np.uint8)


def pixels(folder: Path, content: bytes, channels: int | None = None) -> Any:
    (folder / "a").mkdir(exist_ok=True)
    (folder / "a" / "1.png").write_bytes(content)
    pictures = find_source(folder).read()
    first = np.array([0])
    (block,) = pictures.blocks(first, pictures.channels(first, channels), 28)
    return block[0]


@pytest.mark.parametrize("mode", ["L", "LA", "1"])
def test_grey_images_have_one_channel(tmp_path: Path, mode: str) -> None:
    grey = np.where(GREY[0] > 127, 255, 0).astype(np.uint8) if mode == "1" else GREY[0]
    np.testing.assert_array_equal(pixels(tmp_path, files.png(grey, mode)), grey[None])


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_coloured_images_have_three(tmp_path: Path, mode: str) -> None:
    image = np.kron(COLOURED[0, :, :2, :2], np.ones((1, 14, 14), dtype=np.uint8))
    content = files.png(image.transpose(1, 2, 0), mode)
    shown = pixels(tmp_path, content)
    if mode == "P":
        assert shown.shape == (3, 28, 28)
    else:
        np.testing.assert_array_equal(shown, image)


def test_the_inks_of_a_cmyk_image_become_colours(tmp_path: Path) -> None:
    cyan = Image.new("CMYK", (28, 28), (255, 0, 0, 0))
    shown = pixels(tmp_path, files.encoded(cyan, kind="JPEG"))
    assert shown[0].max() < 10
    assert shown[1:].min() > 245


def test_sixteen_bits_become_eight(tmp_path: Path) -> None:
    deep = GREY[0].astype(np.uint16) * 257
    np.testing.assert_array_equal(pixels(tmp_path, files.png(deep)), GREY[:1])


def test_transparency_is_left_out(tmp_path: Path) -> None:
    image = np.full((28, 28, 4), 200, dtype=np.uint8)
    image[..., 3] = 0
    assert set(pixels(tmp_path, files.png(image)).ravel()) == {200}


def test_a_grey_image_in_a_coloured_set_is_repeated(tmp_path: Path) -> None:
    shown = pixels(tmp_path, files.png(GREY[0]), channels=3)
    np.testing.assert_array_equal(shown, np.stack([GREY[0]] * 3))


def test_a_coloured_image_in_a_grey_set_becomes_its_brightness(tmp_path: Path) -> None:
    green = np.zeros((28, 28, 3), dtype=np.uint8)
    green[..., 1] = 255
    assert set(pixels(tmp_path, files.png(green), channels=1).ravel()) == {150}


def test_a_single_coloured_image_makes_a_coloured_set(tmp_path: Path) -> None:
    files.image_folder(tmp_path, COLOURED[:4])
    (tmp_path / "a" / "grey.png").write_bytes(files.png(GREY[0]))
    pictures = find_source(tmp_path).read()
    assert pictures.channels(np.arange(5), None) == 3
    assert {shape[0] for shape in pictures.shapes()} == {1, 3}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is neither a JPEG nor a PNG image"),
        (b"GIF89a" + bytes(100), "is neither a JPEG nor a PNG image"),
        (files.png(NOISE)[:-200], "cannot be decoded"),
        (files.encoded(Image.fromarray(NOISE), kind="JPEG")[:-200], "cannot be decoded"),
    ],
)
def test_an_image_that_cannot_be_decoded_is_refused_by_name(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    with pytest.raises(DataError, match=rf"a/1\.png: {reason}"):
        pixels(tmp_path, content)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("side", [10_000, 65_000])
def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path: Path, side: int) -> None:
    small = bytearray(files.png(GREY[0]))
    small[16:24] = struct.pack(">II", side, side)
    small[29:33] = struct.pack(">I", zlib.crc32(bytes(small[12:29])))
    with pytest.raises(DataError, match=r"1\.png: has more than the 89 million pixels"):
        pixels(tmp_path, bytes(small))
