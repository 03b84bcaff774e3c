"""Which images a quantization learns from, and which it leaves out."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from prumo.errors import DataError, InputError
from prumo.progress import Silent
from prumo_retina.fundus.preparation import Preparation, Verdict
from prumo_serve.quantize.calibration import FEWEST, drawn_images
from support.fundus_factory import fundus, no_fundus
from support.model_packages import write_colour_package
from support.prepared_photographs import entry, graded, prepared_folder

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_serve.manifest import Manifest
    from prumo_serve.quantize.calibration import CalibrationImages


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    return write_colour_package(tmp_path / "colours")


@pytest.fixture
def retina(tmp_path: Path) -> Manifest:
    return write_colour_package(tmp_path / "retina", "referral")


def test_the_same_images_are_drawn_each_time_and_no_more_than_are_wanted(
    tmp_path: Path, manifest: Manifest
) -> None:
    folder = _images(tmp_path / "images", 30)

    first = _drawn(folder, manifest, tmp_path / "first", count=12)
    again = _drawn(folder, manifest, tmp_path / "again", count=12)

    assert first.count == 12
    assert first.array.shape == (12, 32, 32, 3)
    assert first.array.dtype == np.float32
    np.testing.assert_array_equal(first.array, again.array)
    assert len({int(image[0, 0, 0, 0]) for image in first}) == 12


def test_images_come_one_by_one_as_often_as_they_are_asked_for(
    tmp_path: Path, manifest: Manifest
) -> None:
    drawn = _drawn(_images(tmp_path / "images", 11), manifest, tmp_path)

    assert [batch.shape for batch in drawn] == [(1, 32, 32, 3)] * 11
    np.testing.assert_array_equal(np.concatenate(list(drawn)), drawn.array)


def test_what_cannot_be_read_is_counted_and_left_out(tmp_path: Path, manifest: Manifest) -> None:
    folder = _images(tmp_path / "images", 12)
    for name in ("broken.jpg", "empty.png"):
        (folder / name).write_bytes(b"\xff\xd8\xff nothing" if name == "broken.jpg" else b"")

    drawn = _drawn(folder, manifest, tmp_path)

    assert (drawn.count, drawn.ungradable, drawn.unreadable) == (12, 0, 2)
    assert drawn.array.shape[0] == 12


def test_photographs_that_nobody_can_judge_are_counted_and_left_out(
    tmp_path: Path, retina: Manifest
) -> None:
    folder = tmp_path / "eyes"
    folder.mkdir()
    eye, other = fundus(480, 360).pixels, no_fundus(480, 360)
    for number in range(FEWEST):
        (folder / f"{number}.jpg").write_bytes(_jpeg(eye))
    (folder / "wall.jpg").write_bytes(_jpeg(other))

    drawn = _drawn(folder, retina, tmp_path)

    assert (drawn.count, drawn.ungradable, drawn.unreadable) == (FEWEST, 1, 0)


def test_too_few_images_are_refused_with_the_reason(tmp_path: Path, manifest: Manifest) -> None:
    folder = _images(tmp_path / "images", FEWEST - 1)

    with pytest.raises(DataError, match=f"has {FEWEST - 1} images to calibrate with"):
        _drawn(folder, manifest, tmp_path)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path, manifest: Manifest) -> None:
    with pytest.raises(InputError, match="does not exist"):
        _drawn(tmp_path / "nowhere", manifest, tmp_path)


def test_prepared_photographs_are_taken_as_they_are(tmp_path: Path, retina: Manifest) -> None:
    ungradable = entry(50, 2, verdict=Verdict.BLURRED)
    folder = prepared_folder(tmp_path / "prepared", [*graded(6, 6), ungradable])

    drawn = _drawn(folder, retina, tmp_path)

    stored = {
        tuple(np.asarray(Image.open(path))[0, 0].tolist())
        for path in (folder / "images").iterdir()
        if path.stem != ungradable.image
    }
    assert {tuple(image[0, 0, 0].astype(int).tolist()) for image in drawn} == stored


def test_photographs_prepared_otherwise_are_refused(tmp_path: Path, retina: Manifest) -> None:
    folder = prepared_folder(tmp_path / "prepared", graded(12))
    other = Preparation(size=32, enhance="graham")
    (folder / "preparation.json").write_text(other.model_dump_json(), "utf-8")

    with pytest.raises(DataError, match="other pixels than it has learnt from"):
        _drawn(folder, retina, tmp_path)


def test_prepared_fundi_are_no_images_for_a_model_of_something_else(
    tmp_path: Path, manifest: Manifest
) -> None:
    folder = prepared_folder(tmp_path / "prepared", graded(12))

    with pytest.raises(DataError, match="takes plain images"):
        _drawn(folder, manifest, tmp_path)


def _drawn(folder: Path, manifest: Manifest, scratch: Path, count: int = 100) -> CalibrationImages:
    scratch.mkdir(exist_ok=True)
    return drawn_images(folder, manifest, scratch, Silent(), count)


def _images(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        Image.new("RGB", (40, 40), (number * 8, 9, 9)).save(folder / f"{number:02}.png")
    return folder


def _jpeg(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG")
    return stream.getvalue()
