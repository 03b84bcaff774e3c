"""Pseudonyms stay what they are, and only their owner can read the key."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from prumo.errors import DataError
from prumo_retina.dataset.folder import Key, read_key, with_numbers, with_own_names, write_key

if TYPE_CHECKING:
    from pathlib import Path


def test_a_key_comes_back_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    path, key = tmp_path / "key.csv", Key(("patient", "pseudonym"), {'Ana "A", B': "P0001"})
    write_key(path, key)

    assert read_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_key_there_is_none(tmp_path: Path) -> None:
    assert read_key(tmp_path / "key.csv") is None


@pytest.mark.parametrize("text", ["", "a,b\n1\n", "a,b,c\n", "\xff"])
def test_a_broken_key_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key.csv"
    path.write_text(text, encoding="latin-1")

    with pytest.raises(DataError, match=r"key\.csv"):
        read_key(path)


def test_new_ones_get_the_next_numbers() -> None:
    names = with_numbers({"b": "P0002", "gone": "P0009"}, ["a", "b", "a"], "P", 4)

    assert names == {"b": "P0002", "gone": "P0009", "a": "P0010"}


def test_one_that_its_owner_renamed_is_kept() -> None:
    names = with_numbers({"b": "P0002", "c": "Control"}, ["a", "c"], "P", 4)

    assert names == {"b": "P0002", "c": "Control", "a": "P0003"}


def test_own_names_are_told_apart_by_folders_then_by_numbers() -> None:
    paths = ["1.jpg", "x/1.jpg", "x/1.png", "y/X-1.jpg", "1.2.840.5", "1.2.840.6"]

    assert list(with_own_names({}, paths).values()) == [
        *("1", "x-1", "x-1-2", "y-X-1", "1.2.840.5", "1.2.840.6")
    ]


def test_a_name_once_given_is_kept() -> None:
    names = with_own_names({"b/1.jpg": "1"}, ["a/1.jpg", "b/1.jpg"])

    assert names == {"b/1.jpg": "1", "a/1.jpg": "a-1"}


def test_a_name_is_short_enough_and_can_be_printed() -> None:
    long, odd = with_own_names({}, ["ç" * 250 + ".jpg", "a\nb\\c.jpg"]).values()

    assert len(long.encode()) == 200
    assert odd == "a_b_c"
