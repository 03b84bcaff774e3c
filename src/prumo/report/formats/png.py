"""Figures as images, a file each, sharp enough for print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import vl_convert

from prumo.report.file import write_file

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.report.formats.content import Telling

# What journals ask of images with text and lines is 300 to 600.
PIXELS_PER_INCH = 300
# CSS says that an inch is 96 pixels of a drawing.
SCALE = PIXELS_PER_INCH / 96


def write(telling: Telling, folder: Path) -> list[Path]:
    """A file per figure, named as the figure is."""
    return [
        write_file(folder / f"{figure.name}.png", _image(figure.svg)) for figure in telling.figures
    ]


def _image(svg: str) -> bytes:
    image: bytes = vl_convert.svg_to_png(svg, scale=SCALE, ppi=PIXELS_PER_INCH)
    return image
