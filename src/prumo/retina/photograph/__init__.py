"""Photographs as cameras and archives write them. What a file holds decides, not how it is named.

With a photograph only pixels, their number, the side of the body and the camera's model leave this
room. Whose it is must be asked for: `patient_number`.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prumo.errors import DataError
from prumo.message import Message
from prumo.retina.photograph.dicom import MARK_END, is_dicom, read_dicom, read_patient_number
from prumo.retina.photograph.jpeg import read_jpeg
from prumo.retina.photograph.picture import Photograph, UnreadableError
from prumo.retina.photograph.raster import read_png, read_tiff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = [
    "SUFFIXES",
    "Photograph",
    "PhotographError",
    "is_photograph_file",
    "patient_number",
    "read_photograph",
]

SUFFIXES = frozenset({".dcm", ".dicom", ".jpe", ".jpeg", ".jpg", ".png", ".tif", ".tiff"})
"""How files of photographs are commonly named."""
MOST_BYTES = 1_000_000_000
"""An uncompressed TIFF of 16 bits with the most pixels that are read has 600 million."""
_READERS: dict[bytes, Callable[[Path, int], Photograph]] = {
    b"\xff\xd8\xff": read_jpeg,
    b"\x89PNG\r\n\x1a\n": read_png,
    b"II*\0": read_tiff,
    b"MM\0*": read_tiff,
    b"II+\0": read_tiff,
    b"MM\0+": read_tiff,
}
"""By how a file begins; the last two are TIFF for large files."""

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
    """Read one, reduced to a half, a quarter or an eighth where enough remains.

    Args:
        path: Of a JPEG, PNG, TIFF or DICOM file.
        wanted_pixels: The least length of the shorter side that must remain.

    Raises:
        PhotographError: Whatever is wrong with the file.
    """
    with _errors_of(path):
        return _reader(path)(path, wanted_pixels)


def patient_number(path: Path) -> str:
    """What a DICOM file calls its patient; empty when it does not say, and for all other files."""
    try:
        with _errors_of(path):
            is_known = path.is_file() and is_dicom(_start(path))
            return read_patient_number(path) if is_known else ""
    except PhotographError:
        return ""


def is_photograph_file(path: Path) -> bool:
    """Whether it begins as one; archives write them without an ending, or with numbers as one."""
    if not path.is_file():
        return False
    try:
        start = _start(path)
    except OSError:
        return False
    return is_dicom(start) or start.startswith(tuple(_READERS))


def _reader(path: Path) -> Callable[[Path, int], Photograph]:
    # Opening a pipe would wait for somebody to write into it.
    if path.exists() and not path.is_file():
        raise UnreadableError(
            Message("is a folder, not a photograph" if path.is_dir() else "is not a file")
        )
    start = _start(path)
    if not start:
        raise UnreadableError(Message("is empty"))
    if path.stat().st_size > MOST_BYTES:
        most = MOST_BYTES // 10**9
        raise UnreadableError(
            Message("is larger than the {most} GB that a photograph may have", {"most": most})
        )
    if is_dicom(start):
        return read_dicom
    for mark, reader in _READERS.items():
        if start.startswith(mark):
            return reader
    raise UnreadableError(Message("is not a photograph: it is neither JPEG nor PNG, TIFF or DICOM"))


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MARK_END)


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Whatever a broken file makes a decoder raise, as an error that names the file."""
    try:
        yield
    except UnreadableError as error:
        raise PhotographError(path, error.reason) from error
    except FileNotFoundError as error:
        raise PhotographError(path, Message("does not exist")) from error
    except PermissionError as error:
        raise PhotographError(path, Message("may not be read by this user")) from error
    except Exception as error:
        # A broken file can make a decoder raise anything.
        # In full, an error of the system names the file once more.
        text = getattr(error, "strerror", None) or str(error)
        reason = text.partition("\n")[0] or type(error).__name__
        told = Message("cannot be decoded: {reason}", {"reason": reason})
        raise PhotographError(path, told) from error
