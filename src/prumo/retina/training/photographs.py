"""Which photographs of a data folder a training learns from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.retina.dataset.manifest import read_manifest
from prumo.retina.model.seen import Seen
from prumo.retina.records.card import read_split
from prumo.retina.records.split import TEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def training_photographs(data: Path) -> Iterator[Seen]:
    """All but the test's: they have a say in weights, temperature or thresholds."""
    subsets = read_split(data)
    for entry in read_manifest(data):
        subset = subsets.get(entry.image, TEST)
        if subset != TEST and entry.verdict.is_gradable:
            yield Seen(
                image=entry.image,
                subset=subset,
                sha256=entry.sha256,
                patient=entry.patient,
                camera=entry.camera,
                site=entry.site,
                duplicate_of=entry.duplicate_of,
            )
