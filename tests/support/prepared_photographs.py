"""A data folder as `prumo retina prepare` leaves it, made in no time: grey squares with grades."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PIL import Image

from prumo_retina.dataset.manifest import Entry, write_manifest
from prumo_retina.fundus.preparation import Preparation, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SIZE = 32


def entry(number: int, grade: int | None = 0, **facts: Any) -> Entry:
    """Photograph `number` of a manifest; `facts` are other fields of the entry."""
    name = f"eye-{number:04d}"
    good = Entry(
        input=f"{name}.tif", verdict=Verdict.GOOD, output=f"images/{name}.jpg", grade=grade
    )
    return replace(good, **facts)


def graded(*counts: int) -> list[Entry]:
    """So many photographs of grade 0, 1, …, each of somebody else."""
    grades = [grade for grade, count in enumerate(counts) for _ in range(count)]
    return [entry(number, grade) for number, grade in enumerate(grades)]


def prepared_folder(folder: Path, entries: Iterable[Entry]) -> Path:
    """Manifest, preparation and a small JPEG file for each entry that has an output."""
    entries = list(entries)
    (folder / "images").mkdir(parents=True)
    write_manifest(folder, entries)
    preparation = Preparation(size=SIZE)
    (folder / "preparation.json").write_text(preparation.model_dump_json(), "utf-8")
    for position, found in enumerate(entries):
        if found.output:
            (folder / found.output).write_bytes(jpeg(position % 256))
    return folder


def jpeg(brightness: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (SIZE, SIZE), (brightness, brightness // 2, 9)).save(stream, "JPEG")
    return stream.getvalue()
