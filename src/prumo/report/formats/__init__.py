"""The formats that a report is kept in, each a function that writes files into a folder."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import vl_convert

from prumo.report.file import write_file
from prumo.report.formats.documents import write_latex, write_markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import polars as pl

    from prumo.report.render import LocalizedReport

# What journals ask of images with text and lines is 300 to 600.
PIXELS_PER_INCH = 300
# CSS says that an inch is 96 pixels of a drawing.
SCALE = PIXELS_PER_INCH / 96


def write_formats(report: LocalizedReport, names: Iterable[str], folder: Path) -> list[Path]:
    """Write a report in several of `FORMATS` into one folder; the paths of all files."""
    return [path for name in dict.fromkeys(names) for path in FORMATS[name](report, folder)]


def write_html(report: LocalizedReport, folder: Path) -> list[Path]:
    """`report.html`: one page with its figures and styles inside."""
    return [write_file(folder / "report.html", report.page())]


def write_csv(report: LocalizedReport, folder: Path) -> list[Path]:
    """A file per table, with a decimal point in every language, as programs read them."""
    return [
        write_file(folder / f"{name}.csv", frame.write_csv())
        for name, frame in report.frames.items()
    ]


def write_parquet(report: LocalizedReport, folder: Path) -> list[Path]:
    """A file per table, which keeps the types of columns."""
    return [
        write_file(folder / f"{name}.parquet", _parquet(frame))
        for name, frame in report.frames.items()
    ]


def write_png(report: LocalizedReport, folder: Path) -> list[Path]:
    """An image per figure, sharp enough for print."""
    return [
        write_file(folder / f"{figure.name}.png", _image(figure.svg)) for figure in report.figures
    ]


def write_svg(report: LocalizedReport, folder: Path) -> list[Path]:
    """A drawing per figure."""
    return [
        write_file(folder / f"{figure.name}.svg", figure.svg + "\n") for figure in report.figures
    ]


FORMATS: dict[str, Callable[[LocalizedReport, Path], list[Path]]] = {
    "html": write_html,
    "markdown": write_markdown,
    "latex": write_latex,
    "csv": write_csv,
    "parquet": write_parquet,
    "png": write_png,
    "svg": write_svg,
}


def _parquet(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def _image(svg: str) -> bytes:
    image: bytes = vl_convert.svg_to_png(svg, scale=SCALE, ppi=PIXELS_PER_INCH)
    return image
