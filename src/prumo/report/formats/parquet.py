"""Tables as Parquet, which keeps the types of columns."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from prumo.report.file import write_file

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from prumo.report.formats.content import Telling


def write(telling: Telling, folder: Path) -> list[Path]:
    """`runs.parquet`, `summary.parquet`, `variation.parquet`, and `cost.parquet` with prices."""
    return [
        write_file(folder / f"{name}.parquet", _parquet(frame))
        for name, frame in telling.frames.items()
    ]


def _parquet(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.write_parquet(file)
    return file.getvalue()
