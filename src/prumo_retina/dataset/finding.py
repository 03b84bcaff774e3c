"""What is found in one photograph, and which photographs are duplicates of others."""

from __future__ import annotations

import base64
import json
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

import cv2
import numpy as np

from prumo.errors import InputError, StorageError
from prumo.files import file_sha256, write_whole
from prumo_retina.dataset.folder import OWNER_ONLY
from prumo_retina.fundus.circle import Circle, disc
from prumo_retina.fundus.preparation import Verdict
from prumo_retina.fundus.prepared import encoded, prepared
from prumo_retina.photograph import PhotographError, read_photograph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from prumo_retina.fundus.preparation import Preparation

Kind = Literal["same file", "same photograph"]
_BLUR_PIXELS = 2.0
"""Vessels stay, and how the retina is lit, which is alike in all eyes, goes."""
_SHOWN_RADIUS = 0.9
"""Of the fundus: the rim itself is the same in all photographs of a camera."""
_NOISE_LEVELS = 2.0
"""Contrasts below this many of 256 levels are noise and not raised to full contrast."""
_LEAST_CONTRAST = 1e-3
_BLOCK = 1024


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
    with StorageError.writing(output):
        write_whole(output, content)
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
        with suppress(ValueError, TypeError, KeyError):
            finding = _finding(line)
            findings[finding.name] = finding
    return findings


@contextmanager
def written_findings(journal: Path, known: Iterable[Finding]) -> Iterator[Callable[[Finding], int]]:
    """A function that keeps one more finding, from that moment on whatever happens.

    The journal is first written anew with what is known, which drops lines that were cut short.
    """
    with StorageError.writing(journal):
        write_whole(journal, b"".join(map(_line, known)), mode=OWNER_ONLY)
        with journal.open("ab", buffering=0) as stream:
            yield lambda finding: stream.write(_line(finding))


def _line(finding: Finding) -> bytes:
    return json.dumps(asdict(finding), separators=(",", ":")).encode() + b"\n"


def _finding(line: str) -> Finding:
    content = json.loads(line)
    circle = content["circle"] and Circle(**content["circle"])
    verdict = Verdict(content["verdict"])
    return Finding(**{**content, "circle": circle, "verdict": verdict})


_DRAWN_PIXELS, _SIDE, _COARSE_SIDE = 64, 32, 16
_COARSE_CORRELATION, _CORRELATION = 0.85, 0.8
"""Among 428 real photographs, different ones reached 0.75 and 0.54; copies that were compressed,
reduced to a third, brightened, darkened or trimmed a little kept at least 0.94 and 0.92."""


@dataclass(frozen=True)
class Duplicate:
    """A photograph that shows what an earlier one shows."""

    image: str
    of: str
    """The first one of all that show it."""
    kind: Kind
    correlation: float
    """Of the fine structure of both, 1 when it is the same."""


def fingerprint(pixels: np.ndarray) -> str:
    """The fine structure of a prepared photograph in a thousand signed bytes, as text.

    Empty when there is none, as in a photograph of one colour.
    """
    drawn = cv2.resize(
        np.ascontiguousarray(pixels[..., 1]),
        (_DRAWN_PIXELS, _DRAWN_PIXELS),
        interpolation=cv2.INTER_AREA,
    ).astype(np.float32)
    detail = drawn - cv2.GaussianBlur(drawn, (0, 0), _BLUR_PIXELS)
    variance = cv2.GaussianBlur(detail * detail, (0, 0), _BLUR_PIXELS)
    shown = disc(_DRAWN_PIXELS, _SHOWN_RADIUS)
    even = detail / np.sqrt(variance + _NOISE_LEVELS**2) * shown
    small = cv2.resize(even, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
    small -= small.mean()
    most = np.abs(small).max()
    if most < _LEAST_CONTRAST:
        return ""
    return base64.b64encode((small * (127 / most)).round().astype(np.int8).tobytes()).decode()


def find_duplicates(findings: Sequence[Finding]) -> tuple[Duplicate, ...]:
    """Every prepared photograph that an earlier one shows too."""
    shown = [finding for finding in findings if finding.fingerprint]
    first_of_file: dict[str, int] = {}
    leaders = [first_of_file.setdefault(finding.sha256, at) for at, finding in enumerate(shown)]
    different = np.array(sorted(set(leaders)), dtype=np.intp)
    prints = _prints(shown[at].fingerprint for at in different)
    for later, earlier in _similar(prints):
        leaders[different[later]] = different[earlier]
    return tuple(_duplicates(shown, leaders))


def _duplicates(shown: Sequence[Finding], leaders: Sequence[int]) -> Iterator[Duplicate]:
    """Follow each chain to its beginning; leaders come before those that they lead."""
    firsts: list[int] = []
    for at, leader in enumerate(leaders):
        firsts.append(at if leader == at else firsts[leader])
        if leader == at:
            continue
        finding, first = shown[at], shown[firsts[at]]
        one, other = _prints((finding.fingerprint, first.fingerprint))
        kind: Kind = "same file" if finding.sha256 == first.sha256 else "same photograph"
        yield Duplicate(finding.name, first.name, kind, float(one @ other))


def _similar(prints: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs of a print and the earlier one that is most like it, when they are alike enough.

    Every print is compared with every other, as products of matrices: 35,000 take seconds.
    """
    by = _SIDE // _COARSE_SIDE
    squares = prints.reshape(-1, _COARSE_SIDE, by, _COARSE_SIDE, by)
    coarse = _of_length_one(squares.mean(axis=(2, 4)).reshape(len(prints), _COARSE_SIDE**2))
    for start in range(0, len(prints), _BLOCK):
        block = coarse[start : start + _BLOCK]
        products = block @ coarse[: start + len(block)].T
        # Only earlier ones count, also within the block.
        products[:, start:][np.triu_indices(len(block))] = -1
        nearest = products.argmax(axis=1)
        best = products[np.arange(len(block)), nearest]
        for row in np.flatnonzero(best >= _COARSE_CORRELATION):
            later, earlier = start + int(row), int(nearest[row])
            if prints[later] @ prints[earlier] >= _CORRELATION:
                yield later, earlier


def _prints(texts: Iterable[str]) -> np.ndarray:
    """One row for each, of length 1, so that products of two are their correlations."""
    data = b"".join(map(base64.b64decode, texts))
    return _of_length_one(np.frombuffer(data, np.int8).reshape(-1, _SIDE * _SIDE))


def _of_length_one(rows: np.ndarray) -> np.ndarray:
    centred = rows.astype(np.float32) - rows.mean(axis=1, keepdims=True, dtype=np.float32)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    normal: np.ndarray = centred / np.maximum(lengths, np.finfo(np.float32).tiny)
    return normal
