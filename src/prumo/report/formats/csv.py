"""Tables as CSV, with a decimal point in every language, as programs read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.report.file import write_file

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.report.formats.content import Telling


def write(telling: Telling, folder: Path) -> list[Path]:
    """`runs.csv`, `summary.csv`, `variation.csv`, and `cost.csv` where there are prices."""
    return [
        write_file(folder / f"{name}.csv", frame.write_csv())
        for name, frame in telling.frames.items()
    ]
