"""The formats that a report is kept in, each a function that writes files into a folder."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from prumo.report.file import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import polars as pl

    from prumo.report.render import LocalizedReport

    Format = Callable[[LocalizedReport, Path], list[Path]]

# What journals ask of images with text and lines is 300 to 600.
PIXELS_PER_INCH = 300
# CSS says that an inch is 96 pixels of a drawing.
SCALE = PIXELS_PER_INCH / 96


def write_formats(report: LocalizedReport, names: Iterable[str], folder: Path) -> list[Path]:
    """Write a report in several of `FORMATS` into one folder; the paths of all files."""
    return [path for name in dict.fromkeys(names) for path in FORMATS[name](report, folder)]


def _html(report: LocalizedReport, folder: Path) -> list[Path]:
    """One page with its figures and styles inside."""
    return [write_file(folder / "report.html", report.page())]


def _markdown(report: LocalizedReport, folder: Path) -> list[Path]:
    from prumo.report.formats.documents import write_markdown  # noqa: PLC0415 (as below)

    return write_markdown(report, folder)


def _latex(report: LocalizedReport, folder: Path) -> list[Path]:
    from prumo.report.formats.documents import write_latex  # noqa: PLC0415 (as below)

    return write_latex(report, folder)


def _tables(ending: str, content: Callable[[pl.DataFrame], str | bytes]) -> Format:
    return lambda report, folder: [
        write_file(folder / f"{name}.{ending}", content(frame))
        for name, frame in report.frames.items()
    ]


def _figures(ending: str, content: Callable[[str], str | bytes]) -> Format:
    return lambda report, folder: [
        write_file(folder / f"{figure.name}.{ending}", content(figure.svg))
        for figure in report.figures
    ]


def _parquet(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def _image(svg: str) -> bytes:
    import vl_convert  # noqa: PLC0415 (the help of `prumo report` lists the formats)

    image: bytes = vl_convert.svg_to_png(svg, scale=SCALE, ppi=PIXELS_PER_INCH)
    return image


FORMATS: dict[str, Format] = {
    "html": _html,
    "markdown": _markdown,
    "latex": _latex,
    # With a decimal point in every language, as programs read them.
    "csv": _tables("csv", lambda frame: frame.write_csv()),
    "parquet": _tables("parquet", _parquet),
    "png": _figures("png", _image),
    "svg": _figures("svg", lambda svg: svg + "\n"),
}
