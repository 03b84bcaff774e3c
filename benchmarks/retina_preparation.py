"""Preparing photographs of 4288x2848 against the plain steps of Voets 2019. Limit: 8 times as fast.

    python -m benchmarks.retina_preparation [FOLDER OF JPEG PHOTOGRAPHS]

Prumo's time has everything in it that `prumo retina prepare` does: hashes, verdicts, duplicates and
the manifest. The plain steps have a process for each core, started before the clock. Both must find
the same circles, unless the photographs are your own: the plain steps take a notch of a camera's
mask for a part of the fundus.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import cv2
import simplejpeg

from benchmarks.circle_overlap import intersection_over_union
from benchmarks.fundus_examples import files_in, given_folder
from benchmarks.plain_fundus import prepare_plainly
from benchmarks.synthetic_fundus import fundus
from prumo.machine.cpu import read_cpu
from prumo_retina.dataset.prepare import Request, prepare
from prumo_retina.fundus.preparation import Preparation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

LIMIT = 8.0
LEAST_OVERLAP = 0.98
WIDTH, HEIGHT = 4288, 2848
JPEG_QUALITY = 87
"""About 1.1 MB each, as cameras write them."""
JPEG_SUFFIXES = frozenset({".jpeg", ".jpg"})
PHOTOGRAPHS = 12
TURNS = 3


@dataclass(frozen=True)
class Turn:
    """Seconds for all photographs, and the least intersection over union of two circles."""

    plain_seconds: float
    seconds: float
    overlap: float


def main(arguments: Sequence[str] = ()) -> int:
    given = given_folder(__doc__, arguments, JPEG_SUFFIXES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "photographs"
        paths = linked_photographs(given, source) if given else drawn_photographs(source)
        cores = read_cpu().usable_cores
        spawning = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(cores, spawning, cv2.setNumThreads, (1,)) as pool:
            # Everybody's first turn starts processes and fills caches.
            turns = [turn(pool, paths, folder / str(number)) for number in range(TURNS + 1)][1:]
    return judged(turns, len(paths), is_drawn=given is None)


def linked_photographs(given: Path, folder: Path) -> list[Path]:
    """In a folder of their own, so that both prepare the same ones and nothing else."""
    folder.mkdir()
    for number, path in enumerate(files_in(given, JPEG_SUFFIXES)):
        (folder / f"{number:05d}.jpg").symlink_to(path.resolve())
    return sorted(folder.iterdir())


def drawn_photographs(folder: Path) -> list[Path]:
    folder.mkdir()
    for number in range(PHOTOGRAPHS):
        pixels = fundus(WIDTH, HEIGHT, grade=number % 5, seed=number).pixels
        jpeg = simplejpeg.encode_jpeg(pixels, JPEG_QUALITY, colorsubsampling="420")
        (folder / f"eye-{number:02d}.jpg").write_bytes(jpeg)
    return sorted(folder.iterdir())


def turn(pool: Executor, paths: Sequence[Path], folder: Path) -> Turn:
    size, plain_folder = Preparation().size, folder / "plain"
    plain_folder.mkdir(parents=True)
    targets = [plain_folder / path.name for path in paths]
    began = time.perf_counter()
    plain_circles = list(pool.map(prepare_plainly, paths, targets, [size] * len(paths)))
    plain_seconds = time.perf_counter() - began
    outcome = prepare(Request(paths[0].parent, folder / "prumo"))
    found = {entry.input: entry.circle for entry in outcome.inventory.photographs}
    pairs = zip(plain_circles, (found[path.name] for path in paths), strict=True)
    overlap = min(intersection_over_union(plain, ours) if ours else 0.0 for plain, ours in pairs)
    return Turn(plain_seconds, outcome.seconds, overlap)


def judged(turns: Sequence[Turn], photographs: int, *, is_drawn: bool = True) -> int:
    """Print what was measured with its limits; 1 when one is missed."""
    ratio = median(turn.plain_seconds / turn.seconds for turn in turns)
    overlap = min(turn.overlap for turn in turns)
    per_second = photographs / median(turn.seconds for turn in turns)
    plain_per_second = photographs / median(turn.plain_seconds for turn in turns)
    print(
        f"preparing photographs: {per_second:.1f} per second against {plain_per_second:.1f} of the "
        f"plain steps, {ratio:.1f} times as fast (limit {LIMIT:.0f}), circles overlap by "
        f"{overlap:.3f} at least (limit {LEAST_OVERLAP})"
    )
    return int(ratio < LIMIT or (is_drawn and overlap < LEAST_OVERLAP))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
