"""Labels from any table: whatever its columns, its dialect and its mistakes are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo.errors import DataError
from prumo_retina.dataset.labels import Columns, grade_of, read_labels
from prumo_retina.grade import Grade

if TYPE_CHECKING:
    from pathlib import Path

USUAL = Columns()


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("image,grade,patient\na.jpg,3,João\n", "utf-8"),
        ("image;grade;patient\r\na.jpg;3;João\r\n", "utf-8"),
        ("image\tgrade\tpatient\na.jpg\t3\tJoão\n", "utf-8"),
        ("\ufeffimage,grade,patient\na.jpg,3,João\n", "utf-8"),
        ("image;grade;patient\na.jpg;3;João\n", "latin-1"),
        ("image\tgrade\tpatient\na.jpg\t3\tJoão\n", "utf-16"),
        ('\n"image","grade","patient"\n\n" a.jpg ","3","João"\n,,\n', "utf-8"),
    ],
)
def test_every_dialect_says_the_same(tmp_path: Path, text: str, encoding: str) -> None:
    (label,) = read_labels(write(tmp_path / "labels.csv", text, encoding), USUAL).labels

    assert (label.image, label.grade, label.patient) == ("a.jpg", Grade.SEVERE, "João")


@pytest.mark.parametrize(
    "header",
    [
        "image,level",
        "id_code,diagnosis",
        "Image name,Retinopathy grade,Risk of macular edema ,,",
        "image_id,adjudicated_dr_grade,adjudicated_dme",
        "image_id,DR_ICDR,DR_SDRG",
        "file,final_icdr",
        "FileName,Label",
        "Imagem,Diagnóstico",
        "Nome do arquivo,Grau",
    ],
)
def test_columns_are_found_by_their_usual_names(tmp_path: Path, header: str) -> None:
    values = ",".join(["a", "2", "1", "", ""][: header.count(",") + 1])
    (label,) = read_labels(write(tmp_path / "labels.csv", f"{header}\n{values}\n"), USUAL).labels

    assert (label.image, label.grade) == ("a", Grade.MODERATE)


def test_patient_eye_camera_and_site_are_found_too(tmp_path: Path) -> None:
    text = "imagem,grau,Prontuário,olho,equipamento,Hospital\na,0,17,OE,CR-2,HCPA\n"
    (label,) = read_labels(write(tmp_path / "labels.csv", text), USUAL).labels

    assert (label.patient, label.eye, label.camera, label.site) == ("17", "L", "CR-2", "HCPA")


def test_a_column_that_is_asked_for_comes_before_the_usual_one(tmp_path: Path) -> None:
    file = write(tmp_path / "labels.csv", "image,grade,second reader\na,0,4\n")
    read = read_labels(file, Columns(grade="Second_Reader"))

    assert read.columns.grade == "second reader"
    assert read.labels[0].grade is Grade.PROLIFERATIVE


@pytest.mark.parametrize(
    ("text", "asked", "said"),
    [
        ("name,score\na,1\n", USUAL, "image; name one with --image-column. There are: 'name', 'sc"),
        ("image,score\na,1\n", USUAL, "the grade; name one with --grade-column"),
        ("image,stage\na,1\n", Columns(grade="stages"), "did you mean 'stage'?"),
        ("image,stage\na,1\n", Columns(grade="nivel"), "no column 'nivel'; known: image, stage"),
        ("image,grade,Grade\na,1,2\n", USUAL, "2 columns are called 'grade'"),
        ("image,grade\n", USUAL, "no line below it"),
        ("", USUAL, "is empty"),
        ("PK\x03\x04 and so on", USUAL, "save it there as CSV"),
        ('image,grade\na,"1\n', USUAL, "is no CSV"),
    ],
)
def test_a_table_that_cannot_be_used_says_what_would_be_right(
    tmp_path: Path, text: str, asked: Columns, said: str
) -> None:
    with pytest.raises(DataError) as error:
        read_labels(write(tmp_path / "labels.csv", text), asked)

    assert said in str(error.value)
    assert "labels.csv" in str(error.value)


def test_a_file_that_is_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_labels(tmp_path, USUAL)


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("0", 0),
        (" 4 ", 4),
        ("3.0", 3),
        ("No DR", 0),
        ("Proliferate_DR", 4),
        ("moderada", 2),
        ("Severe non-proliferative retinopathy", 3),
    ],
)
def test_a_grade_is_a_number_or_a_name(text: str, grade: int) -> None:
    assert grade_of(text) == grade


@pytest.mark.parametrize(
    "text", ["5", "-1", "2.5", "nan", "inf", "1e400", "", "bad", "1,0", "None"]
)
def test_anything_else_is_no_grade(text: str) -> None:
    assert grade_of(text) is None


def test_a_carriage_return_inside_of_a_cell_becomes_a_space(tmp_path: Path) -> None:
    file = write(tmp_path / "labels.csv", 'image,grade,site\na,1,"north\rwing"\n')

    assert read_labels(file, USUAL).labels[0].site == "north wing"


def test_a_line_with_a_mistake_tells_it_and_the_others_count(tmp_path: Path) -> None:
    text = "image,grade,eye\na,2.5,left\nb,,R\n,1,\nc,1,both\nd\ne,1,L\n"
    labels = read_labels(write(tmp_path / "labels.csv", text), USUAL).labels

    assert [label.problem for label in labels] == [
        "grade '2.5' is none of 0, 1, 2, 3, 4",
        "has no grade",
        "names no image",
        "eye 'both' is neither left nor right",
        "has no grade",
        "",
    ]
    assert [label.grade for label in labels] == [None, None, 1, 1, None, 1]
