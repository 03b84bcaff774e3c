"""Photographs as cameras and archives write them. What a file holds decides, not how it is named.

With a photograph only pixels, their number, the side of the body and the camera's model leave this
room. Whose it is must be asked for: `patient_number`.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import DataError
from prumo_retina.photograph.pixels import (
    Photograph,
    UnreadableError,
    read_png,
    read_tiff,
    upright_jpeg,
)

if TYPE_CHECKING:
    from prumo.message import Message

SUFFIXES = frozenset({".dcm", ".dicom", ".jpe", ".jpeg", ".jpg", ".png", ".tif", ".tiff"})
"""How files of photographs are commonly named."""
MOST_BYTES = 1_000_000_000
"""An uncompressed TIFF of 16 bits with the most pixels that are read has 600 million."""
_JPEG_MARK = b"\xff\xd8\xff"
_PNG_MARK = b"\x89PNG\r\n\x1a\n"
_READERS: dict[bytes, Callable[[Path, int], Photograph]] = {
    _JPEG_MARK: lambda path, wanted_pixels: upright_jpeg(path.read_bytes(), wanted_pixels),
    _PNG_MARK: read_png,
    b"II*\0": read_tiff,
    b"MM\0*": read_tiff,
    b"II+\0": read_tiff,
    b"MM\0+": read_tiff,
}
"""By how a file begins; the last two are TIFF for large files."""
_PREAMBLE_BYTES = 128
_MARK_END = _PREAMBLE_BYTES + 4
"""So many bytes of a file tell whether it is DICOM."""

# They warn of metadata, which is not read here, and may cite it.
warnings.filterwarnings("ignore", module=r"PIL\.|pydicom\.")


class PhotographError(DataError):
    """A photograph that cannot be read, and the reason in words for any reader."""

    def __init__(self, path: Path, reason: Message) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def read_photograph(path: Path, wanted_pixels: int) -> Photograph:
    """Read a JPEG, PNG, TIFF or DICOM file, reduced to a half, a quarter or an eighth.

    `wanted_pixels` is the least length of the shorter side that must remain. Whatever is wrong with
    the file is a PhotographError.
    """
    try:
        with _reasons():
            return _reader(path)(path, wanted_pixels)
    except UnreadableError as error:
        raise PhotographError(path, error.reason) from error


def photograph_in(content: bytes, wanted_pixels: int) -> Photograph:
    """Decode a JPEG or PNG that never was a file; whatever is wrong is an UnreadableError."""
    with _reasons():
        if content.startswith(_JPEG_MARK):
            return upright_jpeg(content, wanted_pixels)
        if content.startswith(_PNG_MARK):
            return read_png(io.BytesIO(content), wanted_pixels)
        raise UnreadableError("is neither JPEG nor PNG")


def patient_number(path: Path) -> str:
    """What a DICOM file calls its patient; empty when it does not say, and for all other files."""
    try:
        with _reasons():
            if not path.is_file() or not _is_dicom(_start(path)):
                return ""
            from prumo_retina.photograph.dicom import read_patient_number  # noqa: PLC0415 (as below)

            return read_patient_number(path)
    except UnreadableError:
        return ""


def is_photograph_file(path: Path) -> bool:
    """Whether it begins as one; archives write them without an ending, or with numbers as one."""
    try:
        start = _start(path) if path.is_file() else b""
    except OSError:
        return False
    return _is_dicom(start) or start.startswith(tuple(_READERS))


def _reader(path: Path) -> Callable[[Path, int], Photograph]:
    # Opening a pipe would wait for somebody to write into it.
    if path.exists() and not path.is_file():
        raise UnreadableError("is a folder, not a photograph" if path.is_dir() else "is not a file")
    start = _start(path)
    if not start:
        raise UnreadableError("is empty")
    if path.stat().st_size > MOST_BYTES:
        most = MOST_BYTES // 10**9
        raise UnreadableError("is larger than the {most} GB that a photograph may have", most=most)
    if _is_dicom(start):
        return _read_dicom
    for mark, reader in _READERS.items():
        if start.startswith(mark):
            return reader
    raise UnreadableError("is not a photograph: it is neither JPEG nor PNG, TIFF or DICOM")


def _read_dicom(path: Path, wanted_pixels: int) -> Photograph:
    from prumo_retina.photograph.dicom import read_dicom  # noqa: PLC0415 (a server has no pydicom)

    return read_dicom(path, wanted_pixels)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MARK_END)


def _is_dicom(start: bytes) -> bool:
    """Whether a file that begins so is a DICOM file, whatever it is called."""
    return start[_PREAMBLE_BYTES:_MARK_END] == b"DICM"


@contextmanager
def _reasons() -> Iterator[None]:
    """Whatever a broken photograph makes a decoder raise, as an error that says why."""
    try:
        yield
    except UnreadableError:
        raise
    except FileNotFoundError as error:
        raise UnreadableError("does not exist") from error
    except PermissionError as error:
        raise UnreadableError("may not be read by this user") from error
    except Exception as error:
        # A broken file can make a decoder raise anything.
        # In full, an error of the system names the file once more.
        text = getattr(error, "strerror", None) or str(error)
        reason = text.partition("\n")[0] or type(error).__name__
        raise UnreadableError("cannot be decoded: {reason}", reason=reason) from error
