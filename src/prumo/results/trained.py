"""Which networks the runs of a results folder were trained as, and by which frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.results.record import Verdict
from prumo.study.network import Architecture

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo.results.record import RunRecord


def trained_architectures(records: Iterable[RunRecord]) -> dict[Architecture, tuple[str, ...]]:
    """Every architecture of finished trainings, with the frameworks that trained it.

    Imported runs are left out: their logs do not tell what was trained on which images.
    """
    found: dict[Architecture, dict[str, None]] = {}
    for record in records:
        if record.verdict is not Verdict.FINISHED or record.imported:
            continue
        framework = record.parameters.get("framework")
        if framework is not None and (architecture := _architecture(record)):
            found.setdefault(architecture, {})[str(framework)] = None
    return {architecture: tuple(frameworks) for architecture, frameworks in found.items()}


def _architecture(record: RunRecord) -> Architecture | None:
    """What a training says of itself; a command's program says less."""
    try:
        return Architecture(
            network=str(record.parameters["network"]),
            image_size=int(record.parameters["image_size"]),
            channels=int(record.data["shape"][0]),
            classes=int(record.data["classes"]),
        )
    except (KeyError, IndexError, TypeError, ValueError):
        return None
