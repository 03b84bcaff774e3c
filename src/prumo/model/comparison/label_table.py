"""A table of labels: `labels.csv` with a line for each image."""

from __future__ import annotations

import csv
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from prumo.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_IMAGE_COLUMNS = ("image", "file", "filename", "name", "path")
_LABEL_COLUMNS = ("label", "class")


def read_label_table(
    path: Path, names: Iterable[str], known_labels: Sequence[str]
) -> dict[str, str]:
    """The label of each image that the table names, by its path in the folder or by its file name.

    Raises:
        DataError: The table cannot be read, has a label that is unknown, or fits no image.
    """
    rows = _rows(path)
    places = _places(names)
    found: dict[str, str] = {}
    for line, image, label in rows:
        if label not in known_labels:
            raise DataError(
                f"{path}:{line}: '{label}' is no label of the model, which has "
                f"{', '.join(known_labels[:10])}"
            )
        name = places.get(image)
        if name is None:
            continue
        if found.setdefault(name, label) != label:
            raise DataError(f"{path}:{line}: {image} has two labels")
    if not found:
        raise DataError(f"{path}: no line fits an image; its first names '{rows[0][1]}'")
    return found


def _rows(path: Path) -> list[tuple[int, str, str]]:
    """Line, image and label."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = [name.strip().lower() for name in reader.fieldnames or ()]
            reader.fieldnames = columns
            image = _column(columns, _IMAGE_COLUMNS, path)
            label = _column(columns, _LABEL_COLUMNS, path)
            rows = [
                (reader.line_num, (row[image] or "").strip(), (row[label] or "").strip())
                for row in reader
            ]
    except FileNotFoundError:
        raise DataError(f"there is no labels file {path}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    if not rows:
        raise DataError(f"{path} has no line with a label")
    return rows


def _column(columns: Sequence[str], wanted: Sequence[str], path: Path) -> str:
    for name in wanted:
        if name in columns:
            return name
    raise DataError(
        f"{path} has no column {' or '.join(wanted)}; it has {', '.join(columns) or 'none'}"
    )


def _places(names: Iterable[str]) -> dict[str, str]:
    """What an image may be called in a table → its name; a name that two share means neither."""
    by_path = {name: name for name in names}
    by_name: dict[str, str] = {}
    doubled = set()
    for name in by_path:
        short = PurePosixPath(name).name
        doubled |= {short} & by_name.keys()
        by_name[short] = name
    return {short: name for short, name in by_name.items() if short not in doubled} | by_path
