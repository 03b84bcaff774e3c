"""What a cross-validation said of every photograph by a network that had not seen it."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.retina.judge.case import Case
from prumo.retina.model.seen import read_seen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OUT_OF_FOLD = "out-of-fold"
SCORES_FILE = f"scores-{OUT_OF_FOLD}.csv"


def is_cross_validated(model: Path) -> bool:
    """Whether a model folder holds scores out of fold."""
    return (model / SCORES_FILE).is_file()


def out_of_fold_cases(model: Path) -> list[Case]:
    """Every photograph of the cross-validation of a model, with what is known about it."""
    known = {photograph.image: photograph for photograph in read_seen(model)}
    path = model / SCORES_FILE
    cases = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            for row in reader:
                seen = known[row["image"]]
                cases.append(
                    Case(
                        image=row["image"],
                        grade=int(row["grade"]),
                        scores=_scores(row),
                        patient=seen.patient,
                        camera=seen.camera,
                        site=seen.site,
                        fold=row["fold"],
                    )
                )
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(
            f"{path}:{reader.line_num}: is not what a training writes: {error}"
        ) from error
    return cases


def distinct_cases(model: Path) -> list[Case]:
    """The same without duplicates, which would have one photograph count twice."""
    seen = read_seen(model)
    images = {photograph.image for photograph in seen}
    again = {photograph.image for photograph in seen if photograph.duplicate_of in images}
    return [case for case in out_of_fold_cases(model) if case.image not in again]


def _scores(row: Mapping[str, str]) -> tuple[float, ...]:
    """In the order of the columns `score0`, `score1` and so on."""
    # A row that is too long has cells under no name.
    columns = [name for name in row if name and name.startswith("score")]
    return tuple(float(row[name]) for name in sorted(columns, key=lambda name: int(name[5:])))
