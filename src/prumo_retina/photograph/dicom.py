"""DICOM ophthalmic photography: pixels, side of the body, camera and, when asked, whose it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pydicom
from PIL import Image
from pydicom.encaps import get_frame
from pydicom.filereader import read_file_meta_info
from pydicom.pixels import get_decoder, pixel_array
from pydicom.uid import (
    UID,
    DeflatedExplicitVRLittleEndian,
    JPEGBaseline8Bit,
    OphthalmicPhotography8BitImageStorage,
    OphthalmicPhotography16BitImageStorage,
)

from prumo.message import Message
from prumo_retina.photograph.pixels import (
    Photograph,
    UnreadableError,
    check_size,
    decoded_jpeg,
    photograph_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pydicom import Dataset

_CLASSES = (OphthalmicPhotography8BitImageStorage, OphthalmicPhotography16BitImageStorage)
_COLOURS = {
    "MONOCHROME1": "L",
    "MONOCHROME2": "L",
    "RGB": "RGB",
    "YBR_FULL": "YCbCr",
    "YBR_FULL_422": "YCbCr",
    # JPEG 2000's own transformations, which its decoder undoes.
    "YBR_ICT": "RGB",
    "YBR_RCT": "RGB",
}
_NEEDED = (
    "SOPClassUID",
    "Rows",
    "Columns",
    "SamplesPerPixel",
    "PhotometricInterpretation",
    "BitsAllocated",
    "BitsStored",
    "PixelRepresentation",
    "PixelData",
)
_CAMERA = ("Manufacturer", "ManufacturerModelName")
_ALSO_READ = ("HighBit", "ImageLaterality", "NumberOfFrames", "PlanarConfiguration", *_CAMERA)
"""Whatever else a file holds, such as a name, stays in it."""
_LEAST_BITS, _MOST_BITS = 8, 16


def read_dicom(path: Path, wanted_pixels: int) -> Photograph:
    """Read the first frame of a file."""
    transfer = _decodable_transfer(path)
    dataset = pydicom.dcmread(path, specific_tags=[*_NEEDED, *_ALSO_READ])
    if missing := [name for name in _NEEDED if name not in dataset]:
        raise UnreadableError(
            "has no {missing}: it is not a whole DICOM photograph", missing=", ".join(missing)
        )
    if dataset.SOPClassUID not in _CLASSES:
        raise UnreadableError(
            "is a DICOM file of the class '{name}': only those of the class 'Ophthalmic "
            "Photography' are photographs of a fundus",
            name=UID(dataset.SOPClassUID).name,
        )
    check_size(dataset.Columns, dataset.Rows, dataset.Columns * dataset.Rows)
    frames = int(dataset.get("NumberOfFrames") or 1)
    if transfer == JPEGBaseline8Bit:
        # A JPEG says itself how its colours are coded, and is decoded small.
        frame = get_frame(dataset.PixelData, 0, number_of_frames=frames)
        photograph = decoded_jpeg(frame, wanted_pixels)
    else:
        photograph = photograph_of(_decoded(dataset), wanted_pixels)
    if dataset.PhotometricInterpretation == "MONOCHROME1":
        photograph = replace(photograph, pixels=255 - photograph.pixels)
    laterality = dataset.get("ImageLaterality")
    return replace(
        photograph,
        laterality=laterality if laterality in {"L", "R"} else "",
        camera=" ".join(filter(None, (_line(dataset, name) for name in _CAMERA))),
        notes=(Message("has several frames: only the first is read"),) if frames > 1 else (),
    )


def read_patient_number(path: Path) -> str:
    """What a file calls its patient; empty when it does not say."""
    dataset = pydicom.dcmread(path, stop_before_pixels=True, specific_tags=["PatientID"])
    return _line(dataset, "PatientID")


def _line(dataset: Dataset, name: str) -> str:
    """What a file says under a name, on one line; empty when it does not say."""
    return " ".join(str(dataset.get(name) or "").split())


def _decodable_transfer(path: Path) -> UID:
    """How the pixels are stored, when that can be undone here."""
    transfer: UID = read_file_meta_info(path).TransferSyntaxUID
    try:
        is_known = get_decoder(transfer).is_available
    except NotImplementedError:
        is_known = False
    # A deflated file is inflated at once, however large it becomes.
    if not is_known or transfer == DeflatedExplicitVRLittleEndian:
        raise UnreadableError(
            "is stored as '{name}' (transfer syntax {transfer}), which cannot be decoded here: "
            "export it uncompressed, as JPEG or as JPEG 2000",
            name=transfer.name,
            transfer=str(transfer),
        )
    return transfer


def _decoded(dataset: Dataset) -> Image.Image:
    kind = dataset.PhotometricInterpretation
    if kind not in _COLOURS:
        known = ", ".join(sorted(_COLOURS))
        raise UnreadableError("has colours coded as {kind}; known: {known}", kind=kind, known=known)
    bits = dataset.BitsStored
    if not _LEAST_BITS <= bits <= _MOST_BITS or dataset.PixelRepresentation != 0:
        raise UnreadableError(
            "has samples of {bits} bits: photographs have 8 to 16, without a sign", bits=bits
        )
    samples = pixel_array(dataset, index=0, raw=True)
    samples >>= bits - _LEAST_BITS
    pixels = np.minimum(samples, 255, out=samples).astype(np.uint8, copy=False)
    return Image.fromarray(pixels, _COLOURS[kind]).convert("RGB")
