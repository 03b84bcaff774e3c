"""An evaluation as plain data: `evaluation.json` and `predictions.csv`."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.report.file import write_file
from prumo.version import __version__
from prumo_retina.card.content import card
from prumo_retina.card.layout import Drawing, html, markdown
from prumo_retina.evaluation.heat_maps import chosen_images, write_heat_maps
from prumo_retina.judge.measures import scores_of

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo_retina.evaluation.evaluation import Evaluation


FORMAT = 1


def document(evaluation: Evaluation) -> dict[str, Any]:
    """Everything that was found, with null where there is no number."""
    material = evaluation.material
    content = {
        "format": FORMAT,
        "name": evaluation.name,
        "made": evaluation.made,
        "prumo": __version__,
        "model": {
            "name": evaluation.model.description.name,
            "network_sha256": evaluation.model.description.network_sha256,
            "task": evaluation.model.description.task,
            "temperature": evaluation.model.description.temperature,
            "point": evaluation.model.description.point,
        },
        "data": {
            "folder": None if material is None else str(material.folder),
            "subset": None if material is None else material.subset,
            "out_of_fold": evaluation.is_out_of_fold,
            "left_out": {} if material is None else material.left_out,
            "seen": evaluation.seen,
        },
        "judgement": _plain(asdict(evaluation.judgement)),
    }
    for place, rates in enumerate(evaluation.judgement.points):
        content["judgement"]["points"][place]["point"] = rates.point.model_dump()
    return content


def predictions(evaluation: Evaluation) -> str:
    """A row of CSV for each photograph; one that cannot be judged is referred at every point."""
    points = list(evaluation.decisions.threshold)
    is_grade = evaluation.model.description.task == "grade"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["image", "grade", "gradable", "fold", "probability", "told_grade"]
        + [f"refer_{point}" for point in points]
    )
    answers = zip(
        evaluation.decisions.probability.tolist(),
        scores_of(evaluation.cases).argmax(axis=1).tolist(),
        np.stack([evaluation.decisions.referred(point) for point in points], axis=1).tolist(),
        strict=True,
    )
    for case in evaluation.cases:
        row = [case.image, case.grade, _yes(case.is_gradable), case.fold]
        if case.is_gradable:
            probability, told, referred = next(answers)
            row += [f"{probability:.6f}", told if is_grade else "", *map(_yes, referred)]
        else:
            row += ["", "", *[_yes(answer=True) for _ in points]]
        writer.writerow(row)
    return text.getvalue()


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def _plain(value: Any) -> Any:  # noqa: ANN401 (any part of a document)
    """Arrays as lists, and what is no finite number as null, which is all that JSON has for it."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return None if isinstance(value, float) and not isfinite(value) else value


FOLDER = "evaluation"


def write_evaluation(
    evaluation: Evaluation, heat_maps: str, language: Language, progress: Progress
) -> Path:
    """Write figures, tables and the card; the folder that they are in.

    `heat_maps` names photographs, or says how many of the most wrong ones are wanted.
    """
    folder = evaluation.model.path / FOLDER / evaluation.name
    images = chosen_images(evaluation, heat_maps)
    write_file(folder / "evaluation.json", json.dumps(document(evaluation), indent=1) + "\n")
    write_file(folder / "predictions.csv", predictions(evaluation))
    pictures = write_heat_maps(evaluation, images, folder, language, progress)
    told = card(evaluation, pictures, language)
    for section in told.sections:
        for block in section.blocks:
            if isinstance(block, Drawing):
                write_file(folder / f"{block.figure.name}.svg", block.figure.svg + "\n")
    write_file(folder / "card.md", markdown(told))
    write_file(folder / "card.html", html(told))
    return folder
