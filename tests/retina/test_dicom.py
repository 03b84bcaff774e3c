"""DICOM ophthalmic photography: what is read of it, and what is refused."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import pydicom
import pytest
from PIL import Image
from pydicom.uid import (
    UID,
    CTImageStorage,
    DeflatedExplicitVRLittleEndian,
    JPEGExtended12Bit,
    JPEGLSLossless,
    OphthalmicPhotography16BitImageStorage,
    RLELossless,
)

from prumo.errors import DataError
from prumo_retina.photograph import patient_number, read_photograph
from support.dicom_files import (
    NUMBER,
    PATIENT,
    write_dicom,
    write_encapsulated,
    write_jpeg_2000_dicom,
    write_jpeg_dicom,
)
from support.fundus_factory import fundus

if TYPE_CHECKING:
    from pathlib import Path

EYE = fundus(200, 160, grade=2).pixels
GREY = np.asarray(Image.fromarray(EYE).convert("L"))
WHOLE = 160


def test_colours_are_read_as_they_are(tmp_path: Path) -> None:
    photograph = read_photograph(write_dicom(tmp_path / "a.dcm", EYE), WHOLE)

    np.testing.assert_array_equal(photograph.pixels, EYE)
    assert (photograph.width, photograph.height, photograph.scale) == (200, 160, 1.0)


def test_a_file_without_an_ending_is_known_by_its_content(tmp_path: Path) -> None:
    assert read_photograph(write_dicom(tmp_path / "IM000001", EYE), WHOLE).width == 200


@pytest.mark.parametrize(("said", "eye"), [("L", "L"), ("R", "R"), ("B", ""), ("", "")])
def test_the_eye_is_told_when_the_file_says_one(tmp_path: Path, said: str, eye: str) -> None:
    file = write_dicom(tmp_path / "a.dcm", EYE, ImageLaterality=said)

    assert read_photograph(file, WHOLE).laterality == eye


def test_nothing_about_the_patient_leaves_the_file(tmp_path: Path) -> None:
    photograph = read_photograph(write_dicom(tmp_path / "a.dcm", EYE), WHOLE)

    told = repr([getattr(photograph, field.name) for field in fields(photograph)])
    assert PATIENT not in told
    assert NUMBER not in told


@pytest.mark.parametrize(("said", "number"), [(f" {NUMBER} ", NUMBER), ("", ""), (None, "")])
def test_the_number_of_the_patient_is_told_to_who_asks(
    tmp_path: Path, said: str | None, number: str
) -> None:
    assert patient_number(write_dicom(tmp_path / "a", EYE, PatientID=said)) == number


def test_other_files_have_no_number_of_a_patient(tmp_path: Path) -> None:
    Image.fromarray(EYE).save(tmp_path / "a.png")
    (tmp_path / "broken.dcm").write_bytes(bytes(128) + b"DICM\x02")

    for name in ("a.png", "broken.dcm", "gone.dcm"):
        assert patient_number(tmp_path / name) == ""


def test_brightness_and_colour_difference_become_colours(tmp_path: Path) -> None:
    samples = np.asarray(Image.fromarray(EYE).convert("YCbCr"))
    file = write_dicom(tmp_path / "a.dcm", samples, PhotometricInterpretation="YBR_FULL")

    assert np.abs(read_photograph(file, WHOLE).pixels.astype(int) - EYE).max() <= 3


def test_colours_in_planes_are_put_together(tmp_path: Path) -> None:
    file = write_dicom(tmp_path / "a.dcm", EYE, PlanarConfiguration=1)
    dataset = pydicom.dcmread(file)
    dataset.PixelData = EYE.transpose(2, 0, 1).tobytes()
    dataset.save_as(file)

    np.testing.assert_array_equal(read_photograph(file, WHOLE).pixels, EYE)


@pytest.mark.parametrize("bits", [8, 10, 12, 16])
def test_the_bits_that_are_stored_become_eight(tmp_path: Path, bits: int) -> None:
    samples = GREY if bits == 8 else GREY.astype(np.uint16) << (bits - 8)
    file = write_dicom(
        tmp_path / "a.dcm",
        samples,
        BitsStored=bits,
        SOPClassUID=OphthalmicPhotography16BitImageStorage,
    )

    np.testing.assert_array_equal(read_photograph(file, WHOLE).pixels, np.dstack([GREY] * 3))


def test_grey_that_counts_from_white_is_turned_around(tmp_path: Path) -> None:
    file = write_dicom(tmp_path / "a.dcm", 255 - GREY, PhotometricInterpretation="MONOCHROME1")

    np.testing.assert_array_equal(read_photograph(file, WHOLE).pixels[..., 0], GREY)


def test_a_jpeg_inside_is_decoded_small(tmp_path: Path) -> None:
    photograph = read_photograph(write_jpeg_dicom(tmp_path / "a.dcm", EYE), WHOLE // 2)

    half = np.asarray(Image.fromarray(EYE).reduce(2)).astype(int)
    assert photograph.scale == 0.5
    assert (photograph.width, photograph.height, photograph.laterality) == (200, 160, "L")
    assert np.abs(photograph.pixels - half).mean() < 4


def test_a_jpeg_of_grey_that_counts_from_white_is_turned_around_too(tmp_path: Path) -> None:
    elements = {"PhotometricInterpretation": "MONOCHROME1"}
    file = write_jpeg_dicom(tmp_path / "a.dcm", 255 - GREY, **elements)

    assert np.abs(read_photograph(file, WHOLE).pixels[..., 0].astype(int) - GREY).mean() < 4


def test_jpeg_2000_without_loss_gives_the_same_pixels(tmp_path: Path) -> None:
    file = write_jpeg_2000_dicom(tmp_path / "a.dcm", EYE)

    np.testing.assert_array_equal(read_photograph(file, WHOLE).pixels, EYE)


def test_run_lengths_give_the_same_pixels(tmp_path: Path) -> None:
    file = write_dicom(tmp_path / "a.dcm", EYE)
    dataset = pydicom.dcmread(file)
    dataset.compress(RLELossless)
    dataset.save_as(file)

    np.testing.assert_array_equal(read_photograph(file, WHOLE).pixels, EYE)


def test_of_several_frames_the_first_is_read_and_said_so(tmp_path: Path) -> None:
    file = write_dicom(tmp_path / "a.dcm", np.stack([EYE, EYE[::-1]]))

    photograph = read_photograph(file, WHOLE)

    np.testing.assert_array_equal(photograph.pixels, EYE)
    assert list(map(str, photograph.notes)) == ["has several frames: only the first is read"]


def test_other_classes_are_refused_by_name(tmp_path: Path) -> None:
    file = write_dicom(tmp_path / "a.dcm", EYE, SOPClassUID=CTImageStorage)

    with pytest.raises(DataError, match=r"a\.dcm: is a DICOM file of the class 'CT Image Storage'"):
        read_photograph(file, WHOLE)


@pytest.mark.parametrize(
    ("transfer", "name"),
    [
        (JPEGLSLossless, "'JPEG-LS Lossless Image Compression' .* 1.2.840.10008.1.2.4.80"),
        (UID("1.2.3.4"), r"transfer syntax 1\.2\.3\.4"),
    ],
)
def test_storage_that_cannot_be_decoded_is_named(tmp_path: Path, transfer: UID, name: str) -> None:
    file = write_encapsulated(tmp_path / "a.dcm", EYE, b"\0\0", transfer)

    with pytest.raises(DataError, match=f"a.dcm: is stored as .*{name}"):
        read_photograph(file, WHOLE)


def test_jpeg_of_twelve_bits_is_refused(tmp_path: Path) -> None:
    deep = {"BitsAllocated": 16, "BitsStored": 12}
    file = write_encapsulated(
        tmp_path / "a.dcm", GREY, b"\xff\xd8\xff\xd9", JPEGExtended12Bit, **deep
    )

    with pytest.raises(DataError, match=r"a\.dcm: cannot be decoded"):
        read_photograph(file, WHOLE)


def test_a_deflated_file_is_refused_since_it_could_fill_the_memory(tmp_path: Path) -> None:
    file = write_dicom(tmp_path / "a.dcm", EYE)
    dataset = pydicom.dcmread(file)
    dataset.file_meta.TransferSyntaxUID = DeflatedExplicitVRLittleEndian
    dataset.save_as(file)

    with pytest.raises(DataError, match="Deflated Explicit VR"):
        read_photograph(file, WHOLE)


@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        ({"PhotometricInterpretation": "PALETTE COLOR"}, "colours coded as PALETTE COLOR"),
        ({"PixelRepresentation": 1}, "samples of 8 bits: .* without a sign"),
        ({"BitsStored": 4}, "samples of 4 bits"),
        ({"Rows": 161}, "cannot be decoded"),
        ({"Rows": 60000, "Columns": 60000}, "60000 by 60000 pixels: more than the 105 million"),
        ({"Rows": 1, "Columns": 1}, "1 by 1 pixels: a photograph has at least"),
    ],
)
def test_what_is_said_of_the_pixels_must_fit(
    tmp_path: Path, elements: dict[str, object], problem: str
) -> None:
    file = write_dicom(tmp_path / "a.dcm", GREY, **elements)

    with pytest.raises(DataError, match=rf"a\.dcm: .*{problem}"):
        read_photograph(file, WHOLE)


@pytest.mark.parametrize("name", ["PixelData", "Rows", "SOPClassUID", "PhotometricInterpretation"])
def test_what_is_missing_is_named(tmp_path: Path, name: str) -> None:
    file = write_dicom(tmp_path / "a.dcm", EYE)
    dataset = pydicom.dcmread(file)
    del dataset[name]
    dataset.save_as(file)

    with pytest.raises(DataError, match=rf"a\.dcm: has no {name}"):
        read_photograph(file, WHOLE)
