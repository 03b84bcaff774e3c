"""The manifest: what is written is read again, and what is broken names its line."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from prumo.errors import DataError, StorageError
from prumo_retina.dataset.manifest import COLUMNS, Entry, read_manifest, write_manifest
from prumo_retina.fundus.circle import Circle
from prumo_retina.fundus.preparation import Verdict

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = Entry(
    input='straße/a "1", b.jpg',
    output="images/a.1.jpg",
    sha256="ab" * 32,
    width=4288,
    height=2848,
    circle=Circle(2000.25, 1424.5, 1700.75),
    verdict=Verdict.BLURRED,
    reason="line\nfeed; comma, too",
    grade=0,
    patient="P0001",
    eye="L",
    camera="VX-10",
    site="Nanded",
    duplicate_of="b",
)
EMPTY = Entry(input="notes.jpg", verdict=Verdict.UNREADABLE)


def test_every_field_comes_back(tmp_path: Path) -> None:
    write_manifest(tmp_path, [WHOLE, EMPTY])

    assert read_manifest(tmp_path) == (WHOLE, EMPTY)


def test_every_field_has_its_columns() -> None:
    names = {field.name for field in fields(Entry)} - {"circle"} | {"x", "y", "radius"}

    assert set(COLUMNS) == names


def test_the_image_is_the_output_without_folder_and_ending() -> None:
    assert (WHOLE.image, EMPTY.image) == ("a.1", "")


def test_a_folder_without_one_says_which_folder_is_right(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="prumo retina prepare"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("blurred", "lovely", r"manifest\.csv:3: 'lovely' is not a valid Verdict"),
        (",0,P0001", ",5,P0001", "5 is not a valid Grade"),
        ("4288", "wide", "wide"),
        (",P0001", "", "other than 16 columns"),
        (",b\n", ",b,c\n", "other than 16 columns"),
        ("verdict", "judgement", "has no column verdict"),
        ('"straße', '"straße" ', "manifest.csv"),
    ],
)
def test_a_broken_one_names_the_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = write_manifest(tmp_path, [WHOLE])
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")

    with pytest.raises(DataError, match=said):
        read_manifest(tmp_path)


def test_one_that_is_no_text_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "manifest.csv").write_bytes(b"\xff\xd8\xff")

    with pytest.raises(DataError, match="cannot be read"):
        read_manifest(tmp_path)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot write"):
        write_manifest(tmp_path / "gone", [WHOLE])
