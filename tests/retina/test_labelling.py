"""Bringing labels and photographs together: what is not sure is told and not guessed."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import pytest

from prumo.errors import DataError
from prumo_retina.dataset.labelling import Labelling, labelled_by_file, labelled_by_folders
from prumo_retina.dataset.labels import Columns, read_labels

if TYPE_CHECKING:
    from pathlib import Path


def labelled(folder: Path, lines: str, inputs: list[str], header: str = "image,grade") -> Labelling:
    file = folder / "labels.csv"
    file.write_text(f"{header}\n{lines}\n", encoding="utf-8")
    return labelled_by_file(read_labels(file, Columns()), inputs)


def grades(labelling: Labelling) -> dict[str, int | None]:
    return {path: label.grade for path, label in labelling.labels.items()}


@pytest.mark.parametrize(
    "name",
    [
        "train/a.b.jpg",
        "./train/a.b.jpg",
        "train\\a.b.jpg",
        "train/a.b",
        "a.b.jpg",
        "a.b",
        "elsewhere/a.b.jpg",
        "A.B.JPG",
        "a.b.png",
    ],
)
def test_a_photograph_is_found_by_path_by_name_or_without_ending(tmp_path: Path, name: str) -> None:
    labelling = labelled(tmp_path, f"{name},1", ["train/a.b.jpg", "train/a.jpg"])

    assert grades(labelling) == {"train/a.b.jpg": 1}
    assert labelling.notes == {"train/a.jpg": "no label in labels.csv"}


def test_accents_fit_however_a_system_writes_them(tmp_path: Path) -> None:
    composed, apart = (unicodedata.normalize(form, "visão.jpg") for form in ("NFC", "NFD"))

    assert composed != apart
    assert grades(labelled(tmp_path, f"{composed},2", [apart])) == {apart: 2}


def test_the_surest_way_comes_first(tmp_path: Path) -> None:
    inputs = ["a.jpg", "b/a.jpg", "b/a.png"]
    labelling = labelled(tmp_path, "a.jpg,0\nb/a.jpg,1\nb/a.png,2", inputs)

    assert grades(labelling) == {"a.jpg": 0, "b/a.jpg": 1, "b/a.png": 2}


def test_a_name_that_fits_two_photographs_labels_neither(tmp_path: Path) -> None:
    labelling = labelled(tmp_path, "1.jpg,3\n2.jpg,0", ["left/1.jpg", "right/1.jpg", "left/2.jpg"])

    assert grades(labelling) == {"left/2.jpg": 0}
    assert set(labelling.notes) == {"left/1.jpg", "right/1.jpg"}
    (label,) = labelling.without_photograph
    assert label.image == "1.jpg"
    assert label.problem == "the label in line 2 fits 2 photographs: write their paths there"


def test_a_label_without_a_photograph_is_told(tmp_path: Path) -> None:
    labelling = labelled(tmp_path, "a.jpg,1\ngone.jpg,7", ["a.jpg"])

    (label,) = labelling.without_photograph
    assert label.problem == (
        "the label in line 3 has no photograph; grade '7' is none of 0, 1, 2, 3, 4"
    )


def test_lines_that_contradict_each_other_give_no_grade(tmp_path: Path) -> None:
    labelling = labelled(tmp_path, "a.jpg,2\na,3\na.jpg,2\nb,1\nb,1", ["a.jpg", "b.jpg"])

    assert grades(labelling) == {"a.jpg": None, "b.jpg": 1}
    assert labelling.labels["a.jpg"].problem == "lines 2, 3 contradict each other in the grade"
    assert labelling.labels["b.jpg"].problem == ""


def test_a_contradiction_about_the_patient_does_not_name_one(tmp_path: Path) -> None:
    lines = "a.jpg,2,Maria\na,2,Ana"
    label = labelled(tmp_path, lines, ["a.jpg"], "image,grade,patient").labels["a.jpg"]

    assert (label.grade, label.patient) == (2, "")
    assert label.problem == "lines 2, 3 contradict each other in the patient"


def test_a_table_of_other_photographs_is_an_error_that_shows_both(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'x1'.*'a\.jpg'"):
        labelled(tmp_path, "x1,0\nx2,1", ["a.jpg", "b.jpg"])


def test_names_of_left_and_right_eyes_name_the_patient(tmp_path: Path) -> None:
    found = labelled(tmp_path, "10_left,0\n10_right,1", ["10_left.jpeg", "10_right.jpeg"])

    people = [(label.patient, label.eye) for label in found.labels.values()]
    assert people == [("10", "L"), ("10", "R")]
    assert found.source.endswith("labels.csv, patients and eyes by names such as 10_left")


def test_one_other_name_among_them_is_a_doubt_too_many(tmp_path: Path) -> None:
    labels = labelled(tmp_path, "10_left,0\nx,1", ["10_left.jpeg", "x.jpeg"]).labels

    assert {label.patient for label in labels.values()} == {""}


def test_folders_named_by_grades_are_labels() -> None:
    inputs = ["train/0/a.jpg", "train/No DR/b.jpg", "test/4/visit/c.jpg", "test/unclear/d.jpg"]
    labelling = labelled_by_folders(inputs)

    assert grades(labelling) == {inputs[0]: 0, inputs[1]: 0, inputs[2]: 4}
    assert labelling.notes == {inputs[3]: "its folder names no grade"}


def test_folders_named_by_patients_are_none() -> None:
    assert labelled_by_folders([f"{number}/a.jpg" for number in range(1, 20)]) == Labelling()
