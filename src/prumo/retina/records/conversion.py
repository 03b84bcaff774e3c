"""From prepared photographs to records that a training reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.retina.dataset.data_folder import read_preparation
from prumo.retina.dataset.manifest import manifest_sha256, read_manifest
from prumo.retina.fundus.quality import Verdict
from prumo.retina.records.class_table import ClassTable, class_table
from prumo.retina.records.selection import Selection, select
from prumo.retina.records.shards import Contents, write_data_records
from prumo.retina.records.split import Shares, Split, split

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.retina.records.card import RecordsCard


@dataclass(frozen=True)
class Conversion:
    """What went into the records, what did not, and why."""

    selection: Selection
    split: Split
    card: RecordsCard
    table: ClassTable
    """Grades `before` anything was left out, `after` it, and in each subset."""

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "grades": dict(self.table.columns),
            "left_out": [
                {"input": left.entry.input, "reason": left.reason, "detail": left.detail}
                for left in self.selection.left_out
            ],
            "warnings": list(self.split.warnings),
            "records": self.card.model_dump(mode="json"),
        }


def convert(
    data: Path, shares: Shares, *, seed: int, shards: int | None, progress: Progress
) -> Conversion:
    """Choose, split and write the photographs of a prepared folder."""
    # Before the rows: should a preparation come between, the records are known to be old.
    manifest = manifest_sha256(data)
    entries = read_manifest(data)
    selection = select(entries)
    parted = split(selection, shares, seed)
    contents = Contents(parted, read_preparation(data), selection.reasons, manifest, shards)
    card = write_data_records(data, contents, progress)
    there = [entry for entry in entries if entry.verdict is not Verdict.MISSING]
    table = class_table({"before": there, "after": selection.chosen, **parted.subsets})
    return Conversion(selection, parted, card, table)
