"""What is found in one photograph."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from prumo.errors import InputError, StorageError
from prumo.files import file_sha256, write_whole
from prumo_retina.dataset.duplicates import fingerprint
from prumo_retina.dataset.pseudonym import OWNER_ONLY
from prumo_retina.fundus.circle import Circle
from prumo_retina.fundus.prepared import encoded, prepared
from prumo_retina.fundus.quality import Verdict
from prumo_retina.photograph import PhotographError, read_photograph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from prumo_retina.fundus.preparation import Preparation


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
        return file_sha256(path) if path.is_file() else ""
    except (OSError, InputError):
        return ""


def _is_still_there(known: Finding, output: Path) -> bool:
    # Another version, or another library, may read what could not be read before.
    if known.verdict is Verdict.UNREADABLE:
        return False
    try:
        return output.stat().st_size == known.output_bytes
    except FileNotFoundError:
        return not known.output_bytes


def read_findings(journal: Path) -> dict[str, Finding]:
    """By name; the last line about a name counts, and a line that was cut short does not."""
    findings: dict[str, Finding] = {}
    try:
        lines = journal.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return findings
    except OSError as error:
        raise StorageError(f"{journal}: cannot be read: {error.strerror or error}") from error
    for line in lines:
        try:
            finding = _finding(line)
        except (ValueError, TypeError, KeyError):
            continue
        findings[finding.name] = finding
    return findings


@contextmanager
def written_findings(
    journal: Path, known: Iterable[Finding]
) -> Iterator[Callable[[Finding], None]]:
    """A function that keeps one more finding, from that moment on whatever happens.

    The journal is first written anew with what is known, which drops lines that were cut short.
    """
    try:
        write_whole(journal, b"".join(map(_line, known)), mode=OWNER_ONLY)
        with journal.open("ab", buffering=0) as stream:

            def keep(finding: Finding) -> None:
                stream.write(_line(finding))

            yield keep
    except OSError as error:
        raise StorageError.on_writing(journal, error) from error


def _line(finding: Finding) -> bytes:
    return json.dumps(asdict(finding), separators=(",", ":")).encode() + b"\n"


def _finding(line: str) -> Finding:
    content = json.loads(line)
    circle = content["circle"] and Circle(**content["circle"])
    verdict = Verdict(content["verdict"])
    return Finding(**{**content, "circle": circle, "verdict": verdict})
