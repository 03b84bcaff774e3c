"""Zip archives of weights, which take no more memory than the file has."""

from __future__ import annotations

import io
import zipfile

from prumo.errors import DataError


def opened_archive(content: bytes) -> zipfile.ZipFile:
    """For reading; one that would swell is refused: Keras and PyTorch never compress."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise DataError("is compressed, which files of Keras and PyTorch are not")
    # Members that share their bytes would swell too.
    if sum(member.file_size for member in members) > len(content):
        raise DataError("is an archive whose parts are larger than itself")
    return archive
