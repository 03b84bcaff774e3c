"""How many photographs of each grade there were, and how many went where."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.retina.grade import GRADE_COUNT, Grade

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prumo.retina.dataset.manifest import Entry


@dataclass(frozen=True)
class ClassTable:
    """Columns of counts, one for each grade."""

    columns: Mapping[str, tuple[int, ...]]

    def lines(self) -> list[str]:
        """As aligned text, each count with its share of the column."""
        names = [f"{grade:d} {grade.title}" for grade in map(Grade, range(GRADE_COUNT))]
        cells = [["grade", *names, "all"]]
        cells += [_column(head, counts) for head, counts in self.columns.items()]
        widths = [max(map(len, column)) for column in cells]
        return [
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in zip(*cells, strict=True)
        ]


def class_table(columns: Mapping[str, Iterable[Entry]]) -> ClassTable:
    """Count grades; what has none is in no row."""
    return ClassTable({head: grade_counts(entries) for head, entries in columns.items()})


def grade_counts(entries: Iterable[Entry]) -> tuple[int, ...]:
    """How many photographs have each grade, from grade 0 on."""
    counts = Counter(entry.grade for entry in entries)
    return tuple(counts[grade] for grade in range(GRADE_COUNT))


def _column(head: str, counts: tuple[int, ...]) -> list[str]:
    total = sum(counts)
    shares = [f"{count / total:4.0%}" if total else "    " for count in counts]
    cells = [f"{count} {share}" for count, share in zip(counts, shares, strict=True)]
    return [head, *cells, f"{total}     "]
