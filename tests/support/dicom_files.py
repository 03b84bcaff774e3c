"""DICOM files of ophthalmic photography, as an archive would hand them over."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from PIL import Image
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.uid import (
    UID,
    ExplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    OphthalmicPhotography8BitImageStorage,
    generate_uid,
)

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

PATIENT, NUMBER = "Silva^Maria", "4711"


def write_dicom(path: Path, samples: np.ndarray, **elements: Any) -> Path:
    """Write frames of (row, column) or (row, column, channel) uncompressed.

    A dimension before these is that of frames. Elements replace those that fit the samples.
    """
    dataset = _described(samples, **elements)
    dataset.PixelData = samples.tobytes()
    return _saved(path, dataset, ExplicitVRLittleEndian)


def write_jpeg_dicom(path: Path, samples: np.ndarray, **elements: Any) -> Path:
    """Write one frame as JPEG, with 4:2:2 colours as most archives keep them."""
    frame = _encoded(samples, "JPEG", quality=95, subsampling="4:2:2")
    elements = {"PhotometricInterpretation": "YBR_FULL_422"} | elements
    return write_encapsulated(path, samples, frame, JPEGBaseline8Bit, **elements)


def write_jpeg_2000_dicom(path: Path, samples: np.ndarray, **elements: Any) -> Path:
    frame = _encoded(samples, "JPEG2000", no_jp2=True, irreversible=False, mct=1)
    elements = {"PhotometricInterpretation": "YBR_RCT"} | elements
    return write_encapsulated(path, samples, frame, JPEG2000Lossless, **elements)


def write_encapsulated(
    path: Path, samples: np.ndarray, frame: bytes, transfer: UID, **elements: Any
) -> Path:
    dataset = _described(samples, **elements)
    dataset.PixelData = encapsulate([frame])
    dataset["PixelData"].VR = "OB"
    dataset["PixelData"].is_undefined_length = True
    return _saved(path, dataset, transfer)


def _encoded(samples: np.ndarray, kind: str, **options: Any) -> bytes:
    content = io.BytesIO()
    Image.fromarray(samples).save(content, kind, **options)
    return content.getvalue()


def _described(samples: np.ndarray, **elements: Any) -> Dataset:
    is_coloured = samples.shape[-1] == 3
    frame = samples.shape[-3:] if is_coloured else samples.shape[-2:]
    bits = samples.dtype.itemsize * 8
    dataset = Dataset()
    dataset.SOPClassUID = OphthalmicPhotography8BitImageStorage
    dataset.SOPInstanceUID = generate_uid()
    dataset.PatientName = PATIENT
    dataset.PatientID = NUMBER
    dataset.ImageLaterality = "L"
    dataset.Rows, dataset.Columns = frame[:2]
    dataset.SamplesPerPixel = 3 if is_coloured else 1
    dataset.PhotometricInterpretation = "RGB" if is_coloured else "MONOCHROME2"
    if is_coloured:
        dataset.PlanarConfiguration = 0
    if samples.ndim > len(frame):
        dataset.NumberOfFrames = samples.shape[0]
    dataset.BitsAllocated = dataset.BitsStored = bits
    dataset.PixelRepresentation = 0
    for name, value in elements.items():
        setattr(dataset, name, value)
    dataset.HighBit = dataset.BitsStored - 1
    return dataset


def _saved(path: Path, dataset: Dataset, transfer: UID) -> Path:
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = transfer
    dataset.save_as(path, implicit_vr=False, little_endian=True, enforce_file_format=True)
    return path
