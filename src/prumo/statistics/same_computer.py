"""Machines of a study that were one computer, so that nothing tells them apart. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    Computer = tuple[str, str, int | None]


@dataclass(frozen=True)
class SameComputer:
    """Several labels of machines whose runs were all made on the same computer and device."""

    labels: tuple[str, ...]
    computers: tuple[str, ...]
    """What the runs say of it."""


def same_computers(conditions: pl.DataFrame) -> list[SameComputer]:
    """The machines that share a computer, from the conditions of finished runs.

    A run that does not say its computer or its device, as an imported one, tells nothing.
    """
    seen: dict[str, set[Computer]] = {}
    unknown = set()
    columns = ("machine_level", "machine", "device", "threads")
    for label, computer, device, threads in conditions.select(columns).iter_rows():
        if computer is None or device is None:
            unknown.add(label)
        seen.setdefault(label, set()).add((computer, device, threads))
    labels_of: dict[frozenset[Computer], list[str]] = {}
    for label, computers in seen.items():
        if label not in unknown:
            labels_of.setdefault(frozenset(computers), []).append(label)
    return [
        SameComputer(tuple(labels), tuple(sorted({name for name, _, _ in computers})))
        for computers, labels in labels_of.items()
        if len(labels) > 1
    ]
