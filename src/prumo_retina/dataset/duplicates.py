"""The same photograph twice: as a copy of a file, or saved, scaled or brightened anew."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import cv2
import numpy as np

from prumo_retina.dataset.table import write_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from prumo_retina.dataset.finding import Finding

DUPLICATES_FILE = "duplicates.csv"
Kind = Literal["same file", "same photograph"]
_DRAWN_PIXELS, _SIDE, _COARSE_SIDE = 64, 32, 16
_BLUR_PIXELS = 2.0
"""Vessels stay, and how the retina is lit, which is alike in all eyes, goes."""
_SHOWN_RADIUS = 0.9
"""Of the fundus: the rim itself is the same in all photographs of a camera."""
_NOISE_LEVELS = 2.0
"""Contrasts below this many of 256 levels are noise and not raised to full contrast."""
_LEAST_CONTRAST = 1e-3
_COARSE_CORRELATION, _CORRELATION = 0.85, 0.8
"""Among 428 real photographs, different ones reached 0.75 and 0.54; copies that were compressed,
reduced to a third, brightened, darkened or trimmed a little kept at least 0.94 and 0.92."""
_BLOCK = 1024


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
    even = detail / np.sqrt(variance + _NOISE_LEVELS**2) * _inner_circle()
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


def write_duplicates(folder: Path, duplicates: Iterable[Duplicate]) -> None:
    """Write the list of a folder, whole or not at all."""
    write_table(
        folder / DUPLICATES_FILE,
        ["image", "duplicate_of", "kind", "correlation"],
        ((found.image, found.of, found.kind, f"{found.correlation:.3f}") for found in duplicates),
    )


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
    coarse = _coarse(prints)
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


def _coarse(prints: np.ndarray) -> np.ndarray:
    by = _SIDE // _COARSE_SIDE
    squares = prints.reshape(-1, _COARSE_SIDE, by, _COARSE_SIDE, by)
    return _of_length_one(squares.mean(axis=(2, 4)).reshape(len(prints), _COARSE_SIDE**2))


def _of_length_one(rows: np.ndarray) -> np.ndarray:
    centred = rows.astype(np.float32) - rows.mean(axis=1, keepdims=True, dtype=np.float32)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    normal: np.ndarray = centred / np.maximum(lengths, np.finfo(np.float32).tiny)
    return normal


@lru_cache(maxsize=1)
def _inner_circle() -> np.ndarray:
    distance = np.arange(_DRAWN_PIXELS) - (_DRAWN_PIXELS - 1) / 2
    is_inside = np.hypot(*np.meshgrid(distance, distance)) <= _SHOWN_RADIUS * _DRAWN_PIXELS / 2
    inside: np.ndarray = is_inside.astype(np.float32)
    return inside
