"""Folders of models and of data, as trainings and preparations leave them."""

from __future__ import annotations

import csv
import hashlib
from typing import TYPE_CHECKING

import numpy as np

from prumo_retina.dataset.manifest import Entry, write_manifest
from prumo_retina.fundus.preparation import Preparation, Verdict
from prumo_retina.fundus.prepared import encoded
from prumo_retina.model import NETWORK_FILE, Seen, write_description, write_seen
from support.judged_cases import grade_cases
from support.made_evaluation import made_description

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prumo_retina.judge.measures import Case

NETWORK = b"not a network: nobody asks it"


def cross_validated_model(folder: Path, cases: Iterable[Case] | None = None) -> Path:
    """A model with scores out of fold; its network is never asked."""
    folder.mkdir(parents=True)
    (folder / NETWORK_FILE).write_bytes(NETWORK)
    write_description(folder, made_description(sha256=hashlib.sha256(NETWORK).hexdigest()))
    cases = grade_cases(200) if cases is None else list(cases)
    write_seen(
        folder,
        [Seen(case.image, case.fold, sha256_of(case.image), camera=case.camera) for case in cases],
    )
    with (folder / "scores-out-of-fold.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "grade", "fold", *(f"score{number}" for number in range(5))])
        writer.writerows(
            [case.image, case.grade, case.fold, *case.scores] for case in cases if case.scores
        )
    return folder


def data_folder(folder: Path, entries: Iterable[Entry], size: int = 224) -> Path:
    """Prepared photographs, the brighter the higher their grade."""
    (folder / "images").mkdir(parents=True)
    entries = list(entries)
    write_manifest(folder, entries)
    (folder / "preparation.json").write_text(Preparation(size=size).model_dump_json(), "utf-8")
    for found in entries:
        if found.output:
            level = 20 + 45 * (found.grade or 0)
            pixels = np.full((size, size, 3), level, np.uint8)
            (folder / found.output).write_bytes(encoded(pixels))
    return folder


def split(folder: Path, subsets: dict[str, str]) -> Path:
    """Write which image is in which subset."""
    rows = "".join(f"{image},{subset}\n" for image, subset in subsets.items())
    (folder / "split.csv").write_text(f"image,subset\n{rows}", "utf-8")
    return folder


def entry_of(case: Case) -> Entry:
    """The row of a manifest for a case; one without scores is blurred."""
    return Entry(
        input=f"{case.image}.tif",
        verdict=Verdict.GOOD if case.is_gradable else Verdict.BLURRED,
        output=f"images/{case.image}.jpg",
        sha256=sha256_of(case.image),
        grade=case.grade,
        patient=case.patient,
        camera=case.camera,
    )


def sha256_of(image: str) -> str:
    """As if a photograph's bytes were its name."""
    return hashlib.sha256(image.encode()).hexdigest()
