"""Figures as SVG, a file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.report.file import write_file

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.report.formats.content import Telling


def write(telling: Telling, folder: Path) -> list[Path]:
    """A file per figure, named as the figure is."""
    return [
        write_file(folder / f"{figure.name}.svg", figure.svg + "\n") for figure in telling.figures
    ]
