"""What is found in one photograph."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prumo.errors import StorageError
from prumo.files import write_whole
from prumo.retina.dataset.duplicates import fingerprint
from prumo.retina.fundus.prepared import encoded, prepared
from prumo.retina.fundus.quality import Verdict
from prumo.retina.photograph import PhotographError, read_photograph

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.retina.fundus.circle import Circle
    from prumo.retina.fundus.preparation import Preparation


@dataclass(frozen=True)
class Finding:
    """One photograph, without its label and without whose it is."""

    name: str
    """Of the prepared photograph, without folder and extension."""
    verdict: Verdict
    reason: str = ""
    sha256: str = ""
    """Of the input's bytes; empty when they could not be read."""
    width: int = 0
    height: int = 0
    circle: Circle | None = None
    eye: str = ""
    """As the file says: `L`, `R` or empty."""
    camera: str = ""
    """As the file says: maker and model."""
    output_bytes: int = 0
    """Size of the prepared photograph; 0 when there is none."""
    fingerprint: str = ""
    """What photographs are compared by to find duplicates."""


def find(path: Path, output: Path, known: Finding | None, preparation: Preparation) -> Finding:
    """What is in one photograph, prepared and written to `output` unless that was done before."""
    sha256 = _sha256(path)
    if known and known.sha256 == sha256 and _is_still_there(known, output):
        return known
    unread = Finding(output.stem, Verdict.UNREADABLE, sha256=sha256)
    try:
        photograph = read_photograph(path, preparation.wanted_pixels)
    except PhotographError as error:
        output.unlink(missing_ok=True)
        # The row says already which file it is, and its name may be one to keep apart.
        return replace(unread, reason=str(error.reason))
    result = prepared(photograph, preparation)
    finding = replace(
        unread,
        verdict=result.quality.verdict,
        reason="; ".join(filter(None, [str(result.quality.reason), *map(str, photograph.notes)])),
        width=photograph.width,
        height=photograph.height,
        circle=result.circle,
        eye=photograph.laterality,
        camera=photograph.camera,
    )
    if result.pixels is None:
        output.unlink(missing_ok=True)
        return finding
    content = encoded(result.pixels)
    try:
        write_whole(output, content)
    except OSError as error:
        raise StorageError.on_writing(output, error) from error
    return replace(finding, output_bytes=len(content), fingerprint=fingerprint(result.pixels))


def _sha256(path: Path) -> str:
    """Of the bytes; empty for what cannot be read, which is then found again."""
    try:
        # Opening a pipe would wait for somebody to write into it.
        if not path.is_file():
            return ""
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _is_still_there(known: Finding, output: Path) -> bool:
    # Another version, or another library, may read what could not be read before.
    if known.verdict is Verdict.UNREADABLE:
        return False
    try:
        return output.stat().st_size == known.output_bytes
    except FileNotFoundError:
        return not known.output_bytes
