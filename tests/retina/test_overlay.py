"""Heat maps as pictures."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from PIL import Image

from prumo_retina.fundus.prepared import encoded
from prumo_retina.prediction import overlay_names, write_overlay
from prumo_serve.heat_map import overlay

ORANGE = (200, 100, 30)


def photograph() -> np.ndarray:
    return np.full((60, 60, 3), ORANGE, np.uint8)


def test_the_photograph_stays_on_the_left_and_is_yellow_where_it_is_hot_on_the_right() -> None:
    heat = np.zeros((3, 3), np.float32)
    heat[0, 2] = 1
    picture = overlay(photograph(), heat).astype(int)
    assert picture.shape == (60, 120, 3)
    assert (picture[:, :60] == ORANGE).all()
    (_, _, cold_blue), (hot_red, hot_green, hot_blue) = picture[50, 65], picture[10, 110]
    assert min(hot_red, hot_green) > hot_blue + 60
    assert picture[50, 65].max() == cold_blue


def test_heat_is_brighter_the_hotter_it_is() -> None:
    lightness = [
        overlay(photograph(), np.full((2, 2), heat, np.float32))[30, 90].astype(int).sum()
        for heat in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    assert lightness == sorted(set(lightness))


def test_what_is_outside_of_the_fundus_stays_black() -> None:
    pixels = photograph()
    pixels[:, 40:] = 0
    picture = overlay(pixels, np.ones((3, 3), np.float32))
    assert not picture[:, 100:].any()
    assert picture[:, 60:100].all()


def test_a_written_picture_is_a_png_without_metadata(tmp_path: Path) -> None:
    jpeg = tmp_path / "p.jpg"
    jpeg.write_bytes(encoded(photograph()))
    path = write_overlay(tmp_path / "new" / "p.png", jpeg, np.ones((2, 2), np.float32))
    with Image.open(path) as picture:
        assert (picture.format, picture.size, picture.info) == ("PNG", (120, 60), {})


def test_files_of_one_name_have_heat_maps_of_two() -> None:
    files = [Path("a/1.jpg"), Path("b/1.PNG"), Path("c/1.2.840"), Path("c/1.2.841")]
    assert overlay_names(files) == [
        "1-heat-map.png",
        "1-heat-map-2.png",
        "1.2.840-heat-map.png",
        "1.2.841-heat-map.png",
    ]


def test_the_longest_names_have_heat_maps_that_can_be_written() -> None:
    files = [Path("ã" * 120 + "1.jpg"), Path("ã" * 120 + "2.jpg")]
    names = overlay_names(files)
    assert len(set(names)) == 2
    assert all(len(os.fsencode(name)) < 230 for name in names)
