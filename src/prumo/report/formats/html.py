"""One page with its figures and styles inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.report.file import write_file
from prumo.report.page import page

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.report.formats.content import Telling


def write(telling: Telling, folder: Path) -> list[Path]:
    """`report.html`."""
    text = page(telling.results, telling.report, telling.language, telling.figures)
    return [write_file(folder / "report.html", text)]
