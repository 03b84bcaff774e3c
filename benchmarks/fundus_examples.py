"""Photographs to try faults on: drawn ones, or those of a folder that is given by name."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.synthetic_fundus import fundus
from prumo.errors import DataError
from prumo_retina.fundus.preparation import Preparation
from prumo_retina.photograph import SUFFIXES, read_photograph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.synthetic_fundus import Fundus
    from prumo_retina.photograph.pixels import Photograph

SHAPES = ((1072, 712), (800, 800), (1000, 750))
DRAWN_PER_SHAPE = 8


def given_folder(
    description: str | None, arguments: Sequence[str], suffixes: frozenset[str] = SUFFIXES
) -> Path | None:
    """The folder on the command line, which must hold photographs; None when none is given."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, help="of your own photographs; drawn ones without it"
    )
    folder: Path | None = parser.parse_args(arguments).folder
    if folder and not files_in(folder, suffixes):
        parser.error(f"{folder} holds no file that ends in {', '.join(sorted(suffixes))}")
    return folder


def files_in(folder: Path, suffixes: frozenset[str] = SUFFIXES) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in suffixes)


def photographs_in(folder: Path) -> Iterator[tuple[str, Photograph]]:
    """With their names; what cannot be read is told and left out."""
    for path in files_in(folder):
        try:
            yield path.name, read_photograph(path, Preparation().wanted_pixels)
        except DataError as error:
            print(f"left out: {error}")


def drawn() -> Iterator[Fundus]:
    for width, height in SHAPES:
        for seed in range(DRAWN_PER_SHAPE):
            yield fundus(width, height, grade=seed % 5, seed=seed)
