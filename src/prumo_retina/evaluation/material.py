"""The photographs of a data folder that a model is judged on, and why others are left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.errors import DataError, did_you_mean
from prumo_retina.dataset.data_folder import difference, read_preparation
from prumo_retina.dataset.manifest import read_manifest
from prumo_retina.records.card import SPLIT_FILE, read_split
from prumo_retina.records.split import duplicate_groups, select

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo_retina.dataset.manifest import Entry
    from prumo_retina.fundus.preparation import Preparation
    from prumo_retina.model import ModelFolder

ALL = "all"
DUPLICATE = "duplicates of others"
NO_SUBSET = "in no subset"


@dataclass(frozen=True)
class Material:
    """Photographs with a grade."""

    folder: Path
    subset: str
    gradable: tuple[Entry, ...]
    ungradable: tuple[Entry, ...]
    """They have a grade and cannot be judged, so they are referred."""
    left_out: dict[str, int]
    """Why others are not among them, with how many."""

    def image(self, entry: Entry) -> Path:
        """The prepared photograph."""
        return self.folder / entry.output


def material_of(data: Path, subset: str, model: ModelFolder) -> Material:
    """What a subset of a data folder, or all of it, has for a model.

    Raises:
        DataError: It was prepared otherwise than the model's, or there is no such subset.
    """
    require_same_preparation(data, model)
    selection = select(read_manifest(data))
    graded = (*selection.chosen, *selection.ungradable)
    subsets = {entry.name: ALL for entry in graded} if subset == ALL else _subsets(data, subset)
    inside = [entry for entry in graded if subsets.get(entry.name) == subset]
    judged = _distinct(inside)
    gradable = tuple(entry for entry in judged if entry.verdict.is_gradable)
    ungradable = tuple(entry for entry in judged if not entry.verdict.is_gradable)
    _require_files(data, gradable)
    kept = set(selection.ungradable)
    left_out = Counter(left.reason for left in selection.left_out if left.entry not in kept)
    left_out[DUPLICATE] = len(inside) - len(judged)
    left_out[NO_SUBSET] = sum(entry.name not in subsets for entry in graded)
    return Material(data, subset, gradable, ungradable, dict(+left_out))


def require_same_preparation(data: Path, model: ModelFolder) -> None:
    """Refuse photographs that do not look as those that the model has learnt from."""
    found, needed = read_preparation(data), model.description.preparation
    if found == needed:
        return
    raise DataError(
        f"{data} was prepared with {difference(found, needed)}, so the model "
        f"{model.description.name} would see other pixels than it has learnt from; prepare the "
        f"photographs again with `prumo retina prepare IN OUT {_options(needed)}`"
    )


def _options(preparation: Preparation) -> str:
    return (
        f"--size {preparation.size} --method {preparation.method} --enhance {preparation.enhance}"
    )


def _subsets(data: Path, wanted: str) -> dict[str, str]:
    """Name → subset of what was split, in which there must be the wanted subset."""
    if not (data / SPLIT_FILE).exists():
        raise DataError(
            f"{data} has no {SPLIT_FILE}, so it has no subset '{wanted}': "
            "give --subset all to judge the model on all of it"
        )
    subsets = read_split(data)
    known = set(subsets.values()) - {""}
    if wanted not in known:
        raise DataError(f"{data} has no subset '{wanted}': {did_you_mean(wanted, known | {ALL})}")
    return subsets


def _distinct(entries: Sequence[Entry]) -> list[Entry]:
    """One of each group of duplicates, a gradable one if there is any."""
    again = {entry for group in duplicate_groups(entries) for entry in set(group) - {_best(group)}}
    return [entry for entry in entries if entry not in again]


def _best(group: Sequence[Entry]) -> Entry:
    return min(group, key=lambda entry: (not entry.verdict.is_gradable, bool(entry.duplicate_of)))


def _require_files(data: Path, entries: Sequence[Entry]) -> None:
    missing = [entry.output for entry in entries if not (data / entry.output).is_file()]
    if missing:
        raise DataError(
            f"{data / missing[0]} is missing, and so are {len(missing) - 1} more: "
            "call `prumo retina prepare` again"
            if len(missing) > 1
            else f"{data / missing[0]} is missing: call `prumo retina prepare` again"
        )
