"""Which photographs are trained on and which are only looked at: a split, or folds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prumo_worker.failure import DataError
from prumo_worker.retina.photographs import generate_photographs, read_photographs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prumo_worker.retina.photographs import (
        GeneratedPhotographs,
        Photographs,
        RecordedPhotographs,
    )
    from prumo_worker.retina.recipe import RetinaRecipe

TRAINING, VALIDATION = "train", "validation"
_FOLD = "fold-"
_SHARD = re.compile(r"(?P<subset>train|validation|fold-\d+)-\d{5}-of-\d{5}\.tfrecord")
# Of every so many generated photographs, one is for validation, as in a split of real ones.
_GENERATED_SHARE = 5


def open_records(records: Path, image_size: int) -> dict[str, RecordedPhotographs]:
    """The photographs of each subset but the test: `train` and `validation`, or folds in order.

    DataError where no training can be made of them.
    """
    shards = _shards(records)
    found = {}
    for name in sorted(shards, key=_number):
        found[name] = read_photographs(shards[name], image_size)
        if not found[name].names:
            raise DataError(f"{records}: the subset {name} has no photographs")
    return found


def generate_subsets(recipe: RetinaRecipe) -> dict[str, GeneratedPhotographs]:
    """The same for a study of time alone."""
    kept = max(1, recipe.images // _GENERATED_SHARE)
    size, seed = recipe.image_size, recipe.seed
    return {
        TRAINING: generate_photographs(recipe.images - kept, size, seed),
        VALIDATION: generate_photographs(kept, size, seed + 1),
    }


def is_folded(subsets: Mapping[str, Photographs]) -> bool:
    """Whether the photographs are in folds, and not split."""
    return TRAINING not in subsets


def _shards(records: Path) -> dict[str, list[Path]]:
    shards: dict[str, list[Path]] = {}
    for path in sorted(records.glob("*.tfrecord")):
        named = _SHARD.fullmatch(path.name)
        if named:
            shards.setdefault(named["subset"], []).append(path)
    folds = [name for name in shards if name.startswith(_FOLD)]
    if len(folds) == 1:
        raise DataError(f"{records} has one fold only; cross-validation needs two or more")
    if not folds and shards.keys() != {TRAINING, VALIDATION}:
        raise DataError(
            f"{records} has neither {TRAINING} and {VALIDATION} shards nor folds; "
            "`prumo retina convert` makes them"
        )
    return shards


def _number(name: str) -> tuple[int, str]:
    """Folds by their number, where the tenth comes after the ninth."""
    return (int(name[len(_FOLD) :]), "") if name.startswith(_FOLD) else (0, name)
