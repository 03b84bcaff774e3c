"""Writing photographs as TFRecord against TensorFlow's own writer. Limit: no slower.

Both write the same images of 64 KB, about that of a prepared photograph, to the same disk, in turn:
TensorFlow in its own environment's process, Prumo in this one. What another has to write out
meanwhile is flushed before each turn.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from prumo.datasets.formats.tfrecord import Example, write_records, written_example
from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIMIT = 1.0
TURNS = 15
IMAGES, IMAGE_BYTES = 2000, 64 << 10
WRITER = Path(__file__).with_name("tensorflow_writer.py")


def main() -> int:
    python = ensure(find_framework("tensorflow")).python
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        noise = np.random.default_rng(1)
        payloads = noise.integers(0, 256, size=(IMAGES, IMAGE_BYTES), dtype=np.uint8)
        np.save(folder / "payloads.npy", payloads)
        return judged(turns(python, folder, [row.tobytes() for row in payloads]))


def judged(pairs: Sequence[tuple[float, float]]) -> int:
    """Pairs of seconds: TensorFlow's, and Prumo's."""
    ratio = median(theirs / ours for theirs, ours in pairs)
    print(
        f"TFRecord: {ratio:.2f} times the images per second of TensorFlow's writer, "
        f"median of {len(pairs)} turns (limit {LIMIT})"
    )
    return int(ratio < LIMIT)


def turns(python: Path, folder: Path, images: list[bytes]) -> list[tuple[float, float]]:
    words = [python, WRITER, folder / "payloads.npy", folder / "theirs.tfrecord"]
    quiet = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    with subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=quiet,
    ) as process:
        assert process.stdin and process.stdout  # noqa: PT018 (both are pipes)
        asked, told = process.stdin, process.stdout
        assert told.readline() == "ready\n"

        def theirs() -> float:
            print(file=asked, flush=True)
            return float(told.readline())

        def ours() -> float:
            return prumo_seconds(images, folder / "ours.tfrecord")

        pairs = [pair(theirs, ours, is_ours_first=bool(turn % 2)) for turn in range(TURNS + 1)]
        asked.close()
    # In the first turn both make new files and fill their caches.
    return pairs[1:]


def pair(
    theirs: Callable[[], float], ours: Callable[[], float], *, is_ours_first: bool
) -> tuple[float, float]:
    """Who begins changes from turn to turn, so that being second is nobody's advantage."""
    os.sync()
    first = ours() if is_ours_first else theirs()
    os.sync()
    second = theirs() if is_ours_first else ours()
    return (second, first) if is_ours_first else (first, second)


def prumo_seconds(images: list[bytes], out: Path) -> float:
    began = time.perf_counter()
    write_records(out, (record(number, image) for number, image in enumerate(images)))
    return time.perf_counter() - began


def record(number: int, image: bytes) -> bytes:
    return written_example(
        Example(
            texts={
                "image/encoded": [image],
                "image/format": [b"jpeg"],
                "image/filename": [f"eye-{number:05d}".encode()],
            },
            numbers={
                "image/class/label": [number % 5],
                "image/height": [299],
                "image/width": [299],
            },
        )
    )


if __name__ == "__main__":
    sys.exit(main())
