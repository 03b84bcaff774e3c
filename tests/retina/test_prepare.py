"""Preparing folders of photographs: every input has its row, and nothing is done twice."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prumo.errors import BusyError, DataError, InputError
from prumo_retina.dataset.labels import Columns
from prumo_retina.dataset.manifest import Entry, read_manifest
from prumo_retina.dataset.prepare import Outcome, Request, prepare
from prumo_retina.fundus.preparation import Preparation, Verdict
from support.dicom_files import PATIENT, write_dicom
from support.fundus_factory import fundus, no_fundus, write_photograph, write_photographs
from support.heard_progress import Heard

SIZE = (400, 300)


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    """Five photographs, one of each grade, and their labels."""
    write_photographs(tmp_path / "in", 1, width=SIZE[0], height=SIZE[1])
    return tmp_path / "in"


def request_of(photographs: Path) -> Request:
    return Request(photographs, photographs.with_name("out"), Preparation(size=64))


def rows(outcome: Outcome) -> dict[str, Entry]:
    return {entry.input: entry for entry in read_manifest(outcome.folder)}


def pixels_of(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path))


def test_photographs_get_an_image_a_circle_a_hash_and_a_grade(photographs: Path) -> None:
    heard = Heard()
    outcome = prepare(request_of(photographs), heard)

    assert [entry.grade for entry in rows(outcome).values()] == [0, 1, 2, 3, 4]
    for name, entry in rows(outcome).items():
        assert entry.verdict is Verdict.GOOD
        assert entry.output == f"images/{name}"
        assert (entry.width, entry.height, len(entry.sha256)) == (*SIZE, 64)
        assert entry.circle is not None
        assert pixels_of(outcome.folder / entry.output).shape == (64, 64, 3)
    assert heard.said[0] == (
        f"labels: {photographs / 'labels.csv'}, columns: image from 'image', grade from 'grade'"
    )
    assert heard.said[-1].startswith(f"preparing {photographs}: 5 photographs in")


def test_bad_inputs_have_their_rows_and_the_rest_goes_on(photographs: Path) -> None:
    whole = (photographs / "eye-0-1.jpg").read_bytes()
    (photographs / "text.jpg").write_text("no photograph")
    (photographs / "empty.png").touch()
    (photographs / "truncated.jpg").write_bytes(whole[: len(whole) // 2])
    Image.new("RGB", (1, 1)).save(photographs / "one.png")
    Image.new("1", (11_000, 10_000)).save(photographs / "bomb.png")
    Image.fromarray(no_fundus(*SIZE)).save(photographs / "lid.jpg")
    write_photograph(photographs / "dark.jpg", fundus(*SIZE, brightness=0.05))
    os.mkfifo(photographs / "pipe.jpg")
    (photographs / "nowhere.jpg").symlink_to("gone.jpg")
    outcome = prepare(request_of(photographs))

    found = {name: (entry.verdict, bool(entry.output)) for name, entry in rows(outcome).items()}
    unreadable = ("text.jpg", "empty.png", "truncated.jpg", "one.png", "bomb.png", "pipe.jpg")
    for name in (*unreadable, "nowhere.jpg"):
        assert found[name] == (Verdict.UNREADABLE, False)
        assert rows(outcome)[name].reason
        assert str(photographs) not in rows(outcome)[name].reason
    assert found["lid.jpg"] == (Verdict.NO_FUNDUS, False)
    assert found["dark.jpg"] == (Verdict.TOO_DARK, True)
    assert sum(verdict is Verdict.GOOD for verdict, _ in found.values()) == 5
    assert len(outcome.inventory.problems["not readable"]) == 7


def test_pictures_of_kinds_that_are_not_read_have_rows_and_notes_have_none(
    photographs: Path,
) -> None:
    picture = Image.open(photographs / "eye-0-1.jpg")
    picture.save(photographs / "old.bmp")
    picture.save(photographs / "new.WEBP")
    (photographs / "notes.txt").touch()
    (photographs / ".hidden.bmp").touch()
    with (photographs / "labels.csv").open("a", encoding="utf-8") as table:
        table.write("old,3\n")
    outcome = prepare(request_of(photographs))

    found = rows(outcome)
    assert len(found) == 7
    for name in ("old.bmp", "new.WEBP"):
        assert found[name].verdict is Verdict.UNREADABLE
        assert "neither JPEG nor PNG" in found[name].reason
    assert found["old.bmp"].grade == 3
    assert outcome.found.others == (".hidden.bmp", "notes.txt")


def test_unusual_pixels_are_prepared_as_any(photographs: Path) -> None:
    picture = Image.open(photographs / "eye-2-1.jpg")
    picture.convert("CMYK").save(photographs / "inks.jpg")
    picture.convert("L").save(photographs / "grey.jpg")
    deep = np.asarray(picture.convert("L")).astype(np.uint16) << 8
    Image.fromarray(deep).save(photographs / "deep.png")
    wide = fundus(2000, 100).pixels
    Image.fromarray(wide).resize((20_000, 1000)).save(photographs / "wide.jpg")
    found = rows(prepare(request_of(photographs)))

    assert all(found[name].output for name in ("inks.jpg", "grey.jpg", "deep.png", "wide.jpg"))
    assert found["wide.jpg"].width == 20_000


def test_mistakes_in_labels_are_told_in_the_rows(photographs: Path) -> None:
    lines = "image,grade\neye-0-1,0\neye-1-1,5\neye-2-1,2\neye-2-1,3\ngone,1\neye-3-1,bad\n"
    (photographs / "labels.csv").write_text(lines, "utf-8")
    outcome = prepare(request_of(photographs))

    reasons = {name: (entry.grade, entry.reason) for name, entry in rows(outcome).items()}
    assert reasons == {
        "eye-0-1.jpg": (0, ""),
        "eye-1-1.jpg": (None, "grade '5' is none of 0, 1, 2, 3, 4"),
        "eye-2-1.jpg": (None, "lines 4, 5 contradict each other in the grade"),
        "eye-3-1.jpg": (None, "grade 'bad' is none of 0, 1, 2, 3, 4"),
        "eye-4-1.jpg": (None, "no label in labels.csv"),
        "gone": (1, "the label in line 6 has no photograph"),
    }
    assert rows(outcome)["gone"].verdict is Verdict.MISSING
    assert outcome.inventory.verdicts == {Verdict.GOOD: 5}
    assert {kind: len(cases) for kind, cases in outcome.inventory.problems.items()} == {
        "labels with a mistake": 3,
        "photographs without a label": 1,
        "labels without a photograph": 1,
    }


def test_the_same_name_in_two_folders_gives_two_images(photographs: Path) -> None:
    write_photograph(photographs / "again/eye-0-1.jpg", fundus(*SIZE, seed=9))
    outcome = prepare(request_of(photographs))

    outputs = [entry.output for entry in rows(outcome).values()]
    assert len(set(outputs)) == 6
    assert all((outcome.folder / output).is_file() for output in outputs)


def test_a_name_of_several_lines_has_one_row(photographs: Path) -> None:
    (photographs / "eye-0-1.jpg").rename(photographs / "eye\r0\n1.jpg")
    request = request_of(photographs)
    prepare(request)

    assert r"eye\x0d0\x0a1.jpg" in rows(prepare(request))


class TestLabelsFile:
    def test_may_be_named_from_the_folder_of_photographs(self, photographs: Path) -> None:
        request = replace(request_of(photographs), labels=Path("labels.csv"))

        assert rows(prepare(request))["eye-4-1.jpg"].grade == 4

    def test_that_is_not_there_is_an_error_before_the_work(self, photographs: Path) -> None:
        request = replace(request_of(photographs), labels=Path("label.csv"))

        with pytest.raises(InputError, match=r"no labels file label\.csv.*labels\.csv"):
            prepare(request)
        assert not request.folder.exists()

    def test_among_several_none_is_chosen(self, photographs: Path) -> None:
        heard, text = Heard(), (photographs / "labels.csv").read_text("utf-8")
        (photographs / "others.csv").write_text(text, "utf-8")
        (photographs / "notes.csv").write_text("a,b\n", "utf-8")
        outcome = prepare(request_of(photographs), heard)

        assert outcome.labelling.source == ""
        assert heard.said[0] == (
            "labels: none, for labels.csv, others.csv all may hold them: give one with --labels"
        )

    def test_without_the_columns_that_are_asked_for_is_an_error(self, photographs: Path) -> None:
        request = replace(request_of(photographs), columns=Columns(grade="stage"))

        with pytest.raises(InputError, match=r"no CSV file .* grade column 'stage'"):
            prepare(request)

    def test_with_unknown_columns_is_told(self, photographs: Path) -> None:
        heard = Heard()
        (photographs / "labels.csv").write_text("picture,stage\neye-0-1,0\n", "utf-8")
        outcome = prepare(request_of(photographs), heard)

        assert outcome.labelling.source == ""
        assert heard.said[0].startswith("labels: none, for the columns of labels.csv are not known")

    def test_that_was_asked_for_is_told_with_every_column_taken(self, photographs: Path) -> None:
        heard, labels = Heard(), photographs / "labels.csv"
        labels.write_text("foto,Grau,prontuario,olho\neye-0-1,0,7,OD\n", "utf-8")
        prepare(replace(request_of(photographs), labels=labels), heard)

        assert heard.said[0] == (
            f"labels: {labels}, columns: image from 'foto', grade from 'Grau', "
            "patient from 'prontuario', eye from 'olho'"
        )

    def test_can_come_later_without_preparing_again(self, photographs: Path) -> None:
        labels = (photographs / "labels.csv").rename(photographs.with_name("labels.csv"))
        request = request_of(photographs)
        assert rows(prepare(request))["eye-3-1.jpg"].grade is None
        outcome = prepare(replace(request, labels=labels))

        assert outcome.already_there == 5
        assert rows(outcome)["eye-3-1.jpg"].grade == 3


class TestCalledAgain:
    def test_does_only_what_is_new_or_changed_or_gone(self, photographs: Path) -> None:
        (photographs / "text.jpg").write_text("no photograph")
        first = prepare(request_of(photographs))
        write_photograph(photographs / "eye-0-1.jpg", fundus(*SIZE, seed=77))
        write_photograph(photographs / "new.jpg", fundus(*SIZE, seed=78))
        (first.folder / "images/eye-1-1.jpg").unlink()
        (first.folder / "images/eye-2-1.jpg").write_bytes(b"torn")
        untouched = (first.folder / "images/eye-3-1.jpg").stat().st_mtime_ns
        before = rows(first)
        second = prepare(request_of(photographs))

        assert (first.already_there, second.already_there) == (0, 2)
        assert (first.folder / "images/eye-3-1.jpg").stat().st_mtime_ns == untouched
        assert all(
            (first.folder / entry.output).stat().st_size > 9 for entry in rows(second).values()
        )
        changed = {name for name, entry in rows(second).items() if before.get(name) != entry}
        assert changed == {"eye-0-1.jpg", "new.jpg"}

    def test_a_photograph_that_went_bad_loses_its_image(self, photographs: Path) -> None:
        outcome = prepare(request_of(photographs))
        (photographs / "eye-0-1.jpg").write_text("no photograph")
        prepare(request_of(photographs))

        assert rows(outcome)["eye-0-1.jpg"].output == ""
        assert not (outcome.folder / "images/eye-0-1.jpg").exists()

    def test_a_line_that_was_cut_short_costs_one_photograph(self, photographs: Path) -> None:
        outcome = prepare(request_of(photographs))
        journal = outcome.folder / ".journal.jsonl"
        journal.write_bytes(journal.read_bytes()[:-20])

        assert prepare(request_of(photographs)).already_there == 4
        assert prepare(request_of(photographs)).already_there == 5

    def test_with_another_preparation_is_refused(self, photographs: Path) -> None:
        request = request_of(photographs)
        prepare(request)

        with pytest.raises(InputError, match="size 64 and not 65, enhance none and not clahe"):
            prepare(replace(request, preparation=Preparation(size=65, enhance="clahe")))

    def test_while_another_process_writes_is_refused(self, photographs: Path) -> None:
        outcome = prepare(request_of(photographs))
        with (outcome.folder / ".lock").open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)

            with pytest.raises(BusyError, match="another process"):
                prepare(request_of(photographs))
        assert len(read_manifest(outcome.folder)) == 5

    def test_an_image_whose_photograph_is_gone_is_told_and_kept(self, photographs: Path) -> None:
        first = prepare(request_of(photographs))
        (photographs / "eye-0-1.jpg").unlink()
        second = prepare(request_of(photographs))

        assert (first.left_over, second.left_over) == ((), ("images/eye-0-1.jpg",))
        assert "images/eye-0-1.jpg" not in {entry.output for entry in rows(second).values()}


class TestOutputFolder:
    def test_may_lie_among_the_photographs(self, photographs: Path) -> None:
        request = replace(request_of(photographs), folder=photographs / "out")
        prepare(request)

        assert len(rows(prepare(request))) == 5

    def test_that_holds_other_files_is_refused(self, photographs: Path) -> None:
        original = (photographs / "eye-0-1.jpg").read_bytes()
        folder = photographs.rename(photographs.with_name("images")).parent
        with pytest.raises(InputError, match="holds other files"):
            prepare(Request(folder / "images", folder))

        assert (folder / "images/eye-0-1.jpg").read_bytes() == original

    @pytest.mark.parametrize(
        ("name", "said"), [("labels.csv", "is a file"), (".", "are the same folder")]
    )
    def test_that_cannot_be_meant_is_refused(self, photographs: Path, name: str, said: str) -> None:
        with pytest.raises(InputError, match=said):
            prepare(replace(request_of(photographs), folder=photographs / name))

    def test_with_nothing_that_could_be_prepared_still_tells_why(self, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        (tmp_path / "in/text.jpg").write_text("no photograph")

        with pytest.raises(DataError, match=r"none of the 1 photographs.*manifest\.csv tells why"):
            prepare(request_of(tmp_path / "in"))
        assert len(read_manifest(tmp_path / "out")) == 1


class TestIdentifiers:
    def test_metadata_do_not_reach_the_images(self, photographs: Path) -> None:
        picture, exif = Image.open(photographs / "eye-0-1.jpg"), Image.Exif()
        exif[0x010E] = PATIENT
        picture.save(photographs / "eye-0-1.jpg", exif=exif, comment=PATIENT)
        outcome = prepare(request_of(photographs))
        content = (outcome.folder / "images/eye-0-1.jpg").read_bytes()

        assert PATIENT.encode() in (photographs / "eye-0-1.jpg").read_bytes()
        assert PATIENT.encode() not in content
        assert set(Image.open(outcome.folder / "images/eye-0-1.jpg").info) <= {
            *("jfif", "jfif_version", "jfif_unit", "jfif_density")
        }

    def test_patients_become_pseudonyms_that_stay(self, photographs: Path) -> None:
        head, *lines = (photographs / "labels.csv").read_text("utf-8").splitlines()
        people = ["Maria", "Maria", "Ana", "", "Rui"]
        table = [f"{head},paciente", *map(",".join, zip(lines, people, strict=True))]
        (photographs / "labels.csv").write_text("\n".join(table), "utf-8")
        outcome = prepare(request_of(photographs))
        first = [entry.patient for entry in rows(outcome).values()]
        (photographs / "eye-0-1.jpg").unlink()
        (photographs / "eye-1-1.jpg").unlink()
        prepare(request_of(photographs))

        assert first == ["P0001", "P0001", "P0002", "", "P0003"]
        assert [entry.patient for entry in read_manifest(outcome.folder)][:3] == first[2:]
        assert outcome.inventory.patients == 3
        key = outcome.folder / "patients.csv"
        assert "Maria,P0001" in key.read_text("utf-8")
        assert stat.S_IMODE(key.stat().st_mode) == 0o600

    def test_dicom_files_group_by_patient_without_naming_one(self, tmp_path: Path) -> None:
        people = ("number-17", "number-17", "number-18")
        self._write_dicoms(tmp_path / "in", people)
        first = prepare(request_of(tmp_path / "in"))
        again = prepare(request_of(tmp_path / "in"))

        assert again.already_there == 3
        for outcome in (first, again):
            assert [(entry.patient, entry.eye) for entry in outcome.inventory.photographs] == [
                *(("P0001", "L"), ("P0001", "L"), ("P0002", "L"))
            ]
        key = first.folder / "patients.csv"
        assert "number-18,P0002" in key.read_text("utf-8")
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        # Who tries all numbers finds the one that a hash was made of.
        hashes = {hashlib.sha256(person.encode()).hexdigest() for person in people}
        for file in set(first.folder.rglob("*")) - {key}:
            content = file.read_bytes() if file.is_file() else b""
            assert not any(text.encode() in content for text in {PATIENT, *people, *hashes})

    def test_a_label_and_a_file_that_name_the_same_patient_agree(self, tmp_path: Path) -> None:
        self._write_dicoms(tmp_path / "in", ("17", "17", "18"))
        table = "image,grade,patient\n0,1,17\n1,1,\n2,0,17\n"
        (tmp_path / "in/labels.csv").write_text(table, "utf-8")
        outcome = prepare(request_of(tmp_path / "in"))

        assert [entry.patient for entry in rows(outcome).values()] == ["P0001"] * 3

    def _write_dicoms(self, folder: Path, people: tuple[str, ...]) -> None:
        folder.mkdir()
        for number, person in enumerate(people):
            pixels = fundus(*SIZE, seed=number).pixels
            write_dicom(folder / f"{number}.dcm", pixels, PatientID=person)

    def test_a_file_tells_its_camera_where_no_label_does_and_never_its_hospital(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "in").mkdir()
        for name in ("a", "b"):
            write_dicom(
                tmp_path / "in" / f"{name}.dcm",
                fundus(*SIZE).pixels,
                Manufacturer="Canon",
                ManufacturerModelName="CR-2",
                InstitutionName="Hospital",
            )
        (tmp_path / "in/labels.csv").write_text("image,grade,camera\na,0,Topcon\nb,0,\n", "utf-8")
        found = rows(prepare(request_of(tmp_path / "in")))

        assert [(entry.camera, entry.site) for entry in found.values()] == [
            *(("Topcon", ""), ("Canon CR-2", ""))
        ]

    def test_names_can_be_kept_apart(self, photographs: Path) -> None:
        (photographs / "eye-0-1.jpg").rename(photographs / "maria.jpg")
        (photographs / "silva.jpg").write_text("no photograph")
        request = replace(request_of(photographs), anonymous_names=True)
        outcome = prepare(request)
        write_photograph(photographs / "ana.jpg", fundus(*SIZE, seed=5))
        prepare(request)

        told = {entry.input for entry in read_manifest(outcome.folder)}
        # A label names the photograph that was renamed.
        assert told == {f"fundus-0000{number}" for number in range(1, 9)}
        key = outcome.folder / "names.csv"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        for file in set(outcome.folder.rglob("*")) - {key}:
            text = file.name.encode() + (file.read_bytes() if file.is_file() else b"")
            assert not any(name in text for name in (b"maria", b"silva", b"ana.jpg", b"eye-"))

    def test_running_names_stay_and_tell_nothing_of_the_alphabet(self, photographs: Path) -> None:
        for number in range(30):
            (photographs / f"broken-{number:02}.jpg").touch()
        request = replace(request_of(photographs), anonymous_names=True)
        key = prepare(request).folder / "names.csv"
        first = key.read_text("utf-8")
        again = prepare(request)

        assert key.read_text("utf-8") == first
        pairs = dict(line.split(",") for line in first.splitlines()[1:])
        assert sorted(pairs) != sorted(pairs, key=lambda path: pairs[path])
        listed = [entry.input for entry in read_manifest(again.folder)]
        assert listed == sorted(pairs.values())

    def test_a_folder_keeps_to_one_way_of_naming(self, photographs: Path) -> None:
        request = request_of(photographs)
        prepare(request)

        with pytest.raises(InputError, match="prepared without --anonymous-names"):
            prepare(replace(request, anonymous_names=True))


def test_duplicates_are_told_with_the_grades_that_differ(photographs: Path) -> None:
    picture = Image.open(photographs / "eye-1-1.jpg")
    picture.resize((300, 225)).save(photographs / "eye-9.jpg", quality=80)
    (photographs / "eye-8.jpg").write_bytes((photographs / "eye-2-1.jpg").read_bytes())
    with (photographs / "labels.csv").open("a", encoding="utf-8") as table:
        table.write("eye-9.jpg,3\neye-8.jpg,2\n")
    outcome = prepare(replace(request_of(photographs), preparation=Preparation()))

    found = rows(outcome)
    assert found["eye-9.jpg"].duplicate_of == "eye-1-1"
    assert found["eye-8.jpg"].duplicate_of == "eye-2-1"
    assert found["eye-1-1.jpg"].reason == "the same photograph has the grades 1, 3"
    assert len(outcome.inventory.problems["duplicates with different grades"]) == 2
    lines = (outcome.folder / "duplicates.csv").read_text("utf-8").splitlines()
    assert lines[0] == "image,duplicate_of,kind,correlation"
    assert lines[1] == "eye-8,eye-2-1,same file,1.000"
    assert lines[2].startswith("eye-9,eye-1-1,same photograph,0.9")
