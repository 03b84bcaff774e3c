"""What a user points at when photographs are to be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo.errors import InputError
from prumo_retina.prediction import given_photographs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b.jpg", "a.jpg", "notes.txt", "deep/c.PNG", "maps/a-heat-map.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["b.jpg", "a.jpg"], ["b.jpg", "a.jpg"]),
        (["notes.txt"], ["notes.txt"]),
        (["*.jpg"], ["a.jpg", "b.jpg"]),
        (["deep"], ["deep/c.PNG"]),
        (["d*"], ["deep/c.PNG"]),
        (["**/*.PNG"], ["deep/c.PNG"]),
        (["b.jpg", ".", "./b.jpg"], ["b.jpg", "a.jpg", "deep/c.PNG"]),
    ],
)
def test_files_folders_and_patterns_give_each_photograph_once(
    words: list[str], found: list[str], here: Path
) -> None:
    files = given_photographs(words, here / "maps").files
    assert [str(file) for file in files] == found


@pytest.mark.usefixtures("here")
def test_what_else_lies_in_a_folder_is_told_by_name(here: Path) -> None:
    (here / "labels\n.csv").touch()
    given = given_photographs(["."], here / "maps")
    assert given.not_looked_at == (r"labels\n.csv", "notes.txt", "./maps: is written to")
    assert given_photographs(["notes.txt"]).not_looked_at == ()


@pytest.mark.usefixtures("here")
def test_a_picture_of_a_kind_that_is_not_read_is_given_all_the_same(here: Path) -> None:
    (here / "deep/d.bmp").touch()
    given = given_photographs(["deep"])
    assert [str(file) for file in given.files] == ["deep/c.PNG", "deep/d.bmp"]
    assert given.not_looked_at == ()


def test_a_pattern_may_be_absolute_and_a_name_may_look_like_one(here: Path) -> None:
    (here / "[1].jpg").touch()
    assert given_photographs([f"{here}/a*.jpg"]).files == (here / "a.jpg",)
    assert given_photographs([f"{here}/[1].jpg"]).files == (here / "[1].jpg",)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["missing.jpg"], "there is no file missing.jpg"),
        (["a.jpg", "*.bmp"], r"there is no file \*.bmp"),
        (["a**.jpg"], r"there is no file a\*\*.jpg"),
        ([""], "an empty name was given"),
        (["\x1b[2J.jpg"], r"there is no file \\x1b\[2J.jpg"),
        (["empty"], "holds no photographs"),
        (["maps"], "is the folder that heat maps are written to"),
    ],
)
def test_what_names_no_photograph_is_refused(words: list[str], reason: str, here: Path) -> None:
    (here / "empty").mkdir()
    with pytest.raises(InputError, match=reason):
        given_photographs(words, here / "maps")
