"""One file per format; each has `write`, which leaves files in a folder and tells which."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prumo.report.formats.content import Telling

FORMATS = ("html", "markdown", "latex", "csv", "parquet", "png", "svg")


class Format(Protocol):
    """A way to keep a report."""

    def write(self, telling: Telling, folder: Path) -> list[Path]:
        """Write the report below the folder, which is made where there is none."""


def open_format(name: str) -> Format:
    """The format of this name, one of `FORMATS`."""
    return cast("Format", import_module(f"prumo.report.formats.{name}"))


def write_formats(telling: Telling, names: Iterable[str], folder: Path) -> list[Path]:
    """Write a report in several formats into one folder; the paths of all files."""
    return [
        path for name in dict.fromkeys(names) for path in open_format(name).write(telling, folder)
    ]
