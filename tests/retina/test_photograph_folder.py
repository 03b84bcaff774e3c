"""Which files of a folder are photographs, whatever else lies there."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prumo.errors import InputError
from prumo_retina.dataset.folder import find_photographs, without_suffix
from support.dicom_files import write_dicom


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_photographs_of_all_kinds_are_found_in_all_folders_in_order(tmp_path: Path) -> None:
    names = ["a.JPG", "b/1/c.tiff", "b/1/d.dcm", "b/e.png"]
    touch(*(tmp_path / name for name in reversed(names)))
    touch(tmp_path / "labels.csv", tmp_path / "b/readme.txt", tmp_path / "b/._e.png")
    found = find_photographs(tmp_path)

    assert list(found.photographs) == names
    assert found.tables == (tmp_path / "labels.csv",)
    assert found.others == ("b/._e.png", "b/readme.txt")


def test_a_dicom_file_needs_no_ending(tmp_path: Path) -> None:
    write_dicom(tmp_path / "IM000001", np.zeros((40, 40, 3), np.uint8))
    touch(tmp_path / "IM000002")

    assert list(find_photographs(tmp_path).photographs) == ["IM000001"]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF"])
def test_a_photograph_of_any_kind_is_known_by_what_it_holds(tmp_path: Path, kind: str) -> None:
    for name in ("eye", "eye.1", "eye.jfif"):
        Image.new("RGB", (40, 40)).save(tmp_path / name, kind)
    (tmp_path / "notes").write_text("no photograph")
    found = find_photographs(tmp_path)

    assert list(found.photographs) == ["eye", "eye.1", "eye.jfif"]
    assert found.others == ("notes",)


def test_what_a_preparation_wrote_is_left_out(tmp_path: Path) -> None:
    touch(tmp_path / "a.jpg", tmp_path / "out/images/a.jpg")
    touch(tmp_path / "old/preparation.json", tmp_path / "old/images/a.jpg")
    found = find_photographs(tmp_path, tmp_path / "old/../out")

    assert list(found.photographs) == ["a.jpg"]
    assert [line.split(":")[0] for line in found.left_out] == [
        str(tmp_path / "old"),
        str(tmp_path / "out"),
    ]


def test_a_link_around_in_a_circle_ends(tmp_path: Path) -> None:
    touch(tmp_path / "real/a.jpg")
    (tmp_path / "real/up").symlink_to(tmp_path)
    (tmp_path / "linked").symlink_to(tmp_path / "real")

    assert len(find_photographs(tmp_path).photographs) == 1


def test_a_name_that_is_no_text_is_shown_as_one(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jpg"))).touch()

    assert list(find_photographs(tmp_path).photographs) == [r"caf\xe9.jpg"]


def test_a_name_of_several_lines_is_shown_on_one(tmp_path: Path) -> None:
    (tmp_path / "a\rb\n\x1b[2Jç.jpg").touch()

    assert list(find_photographs(tmp_path).photographs) == [r"a\x0db\x0a\x1b[2Jç.jpg"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gone", "does not exist"),
        ("full/a.txt", "is a file"),
        ("full", "holds no photographs: no file ends in .dcm"),
        ("done", "holds prepared photographs"),
    ],
)
def test_a_folder_that_cannot_be_meant_is_an_error(tmp_path: Path, name: str, said: str) -> None:
    touch(tmp_path / "full/a.txt", tmp_path / "done/preparation.json", tmp_path / "done/a.jpg")

    with pytest.raises(InputError, match=said):
        find_photographs(tmp_path / name)


def test_only_the_ending_of_a_photograph_is_taken_off() -> None:
    assert without_suffix("a/b.1.JPEG") == "a/b.1"
    assert without_suffix("1.2.840.577") == "1.2.840.577"
