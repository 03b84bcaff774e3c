"""Preparing CIFAR-10 at 64x64 against a pass of frameworks' own loaders. Limit: no slower.

Prumo's time has everything in it: hashing the files, resizing, writing the cache. It is paid once;
a loader pays in every epoch.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np

from prumo.datasets.preparation import Request, prepare, remove
from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
from prumo.environments.store import existing
from prumo.machine.cpu import read_cpu

LIMIT = 1.0
TURNS = 5
IMAGES_PER_BATCH = 10_000
LOADERS = Path(__file__).with_name("framework_loaders.py")


def main() -> int:
    pythons = {"pytorch": ensure(find_framework("pytorch")).python}
    if tensorflow := existing(find_framework("tensorflow")):
        pythons["tensorflow"] = tensorflow.python
    else:
        print("the loader of tensorflow is not measured: `prumo setup tensorflow` comes first")
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, PRUMO_CACHE=f"{folder}/cache"),
    ):
        cifar = written_batches(Path(folder) / "cifar10")
        turns = [
            (prumo_seconds(cifar), {name: seconds(name, pythons[name], cifar) for name in pythons})
            for _ in range(TURNS)
        ]
    ratios = {name: median(prumo / other[name] for prumo, other in turns) for name in pythons}
    for name, ratio in ratios.items():
        print(
            f"preparing CIFAR-10 at 64x64 takes {ratio:.2f} of one pass of the loader of {name} "
            f"(limit {LIMIT})"
        )
    return int(max(ratios.values()) > LIMIT)


def written_batches(folder: Path) -> Path:
    """Files like the original ones, of noise."""
    folder.mkdir()
    noise = np.random.default_rng(1)
    for number in range(1, 6):
        records = noise.integers(0, 256, size=(IMAGES_PER_BATCH, 3073), dtype=np.uint8)
        records[:, 0] %= 10
        records.tofile(folder / f"data_batch_{number}.bin")
    return folder


def prumo_seconds(folder: Path) -> float:
    began = time.perf_counter()
    prepared = prepare(Request("cifar10", folder, image_size=64))
    seconds = time.perf_counter() - began
    remove(prepared.key)
    return seconds


def seconds(framework: str, python: Path, folder: Path) -> float:
    words = [str(python), str(LOADERS), framework, str(folder), str(read_cpu().usable_cores)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
