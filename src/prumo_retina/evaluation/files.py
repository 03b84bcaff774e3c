"""An evaluation on disk: `evaluation.json`, `predictions.csv`, heat maps and model cards."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.files import json_text
from prumo.message import Message
from prumo.report.figures.figure import Figure
from prumo.report.file import write_file
from prumo.version import __version__
from prumo_retina.card import card
from prumo_retina.card.layout import Picture, html, markdown
from prumo_retina.dataset.data_folder import csv_text
from prumo_retina.evaluation import image_names, require_known_images
from prumo_retina.judge.measures import scores_of
from prumo_retina.prediction import write_overlay
from prumo_retina.scoring import score

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo_retina.evaluation import Evaluation

FORMAT = 1
FOLDER = "evaluation"
HEAT_MAPS_FOLDER = "heat-maps"


def write_evaluation(
    evaluation: Evaluation, heat_maps: str, language: Language, progress: Progress
) -> Path:
    """Write figures, tables and the card; the folder that they are in.

    `heat_maps` names photographs, or says how many of the most wrong ones are wanted.
    """
    folder = evaluation.model.path / FOLDER / evaluation.name
    images = chosen_images(evaluation, heat_maps)
    write_file(folder / "evaluation.json", json_text(document(evaluation)) + "\n")
    write_file(folder / "predictions.csv", predictions(evaluation))
    pictures = write_heat_maps(evaluation, images, folder, language, progress)
    model_card = card(evaluation, pictures, language)
    for section in model_card.sections:
        for block in section.blocks:
            if isinstance(block, Figure):
                write_file(folder / f"{block.name}.svg", block.svg + "\n")
    write_file(folder / "card.md", markdown(model_card))
    write_file(folder / "card.html", html(model_card))
    return folder


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
    answers = zip(
        evaluation.decisions.probability.tolist(),
        scores_of(evaluation.cases).argmax(axis=1).tolist(),
        np.stack([evaluation.decisions.referred(point) for point in points], axis=1).tolist(),
        strict=True,
    )
    rows = []
    for case in evaluation.cases:
        answered: list[object] = ["", "", *(_yes(answer=True) for _ in points)]
        if case.is_gradable:
            probability, grade, referred = next(answers)
            answered = [f"{probability:.6f}", grade if is_grade else "", *map(_yes, referred)]
        rows.append([case.image, case.grade, _yes(case.is_gradable), case.fold, *answered])
    heads = ["image", "grade", "gradable", "fold", "probability", "told_grade"]
    return csv_text([*heads, *(f"refer_{point}" for point in points)], rows)


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


def chosen_images(evaluation: Evaluation, request: str) -> list[str]:
    """The requested photographs: `5` are the five most wrong, else names with commas."""
    gradable = [case for case in evaluation.cases if case.is_gradable]
    require_known_images(request, evaluation.material)
    if request.isdecimal():
        truths = np.array([case.is_referable for case in gradable])
        wrong = np.abs(evaluation.decisions.probability - truths)
        return [
            gradable[place].image for place in np.argsort(-wrong, kind="stable")[: int(request)]
        ]
    return image_names(request)


def write_heat_maps(
    evaluation: Evaluation,
    images: Sequence[str],
    folder: Path,
    language: Language,
    progress: Progress,
) -> list[Picture]:
    """Ask the model once more for these, and write a picture for each."""
    if not images or evaluation.material is None:
        return []
    gradable = [case for case in evaluation.cases if case.is_gradable]
    places = {case.image: place for place, case in enumerate(gradable)}
    outputs = {entry.image: entry.output for entry in evaluation.material.gradable}
    paths = [evaluation.material.folder / outputs[image] for image in images]
    found = score(evaluation.model, paths, heat_maps=True, progress=progress)
    if found.heat_maps is None:
        return []
    pictures = []
    for image, path, heat_map in zip(images, paths, found.heat_maps, strict=True):
        written = write_overlay(folder / HEAT_MAPS_FOLDER / f"{image}.png", path, heat_map)
        title = Message(
            "{image}: true grade {grade}, probability of a referral {probability:.3f}",
            {
                "image": image,
                "grade": gradable[places[image]].grade,
                "probability": float(evaluation.decisions.probability[places[image]]),
            },
        )
        name = f"{HEAT_MAPS_FOLDER}/{written.name}"
        pictures.append(Picture(name, language.say(title), written.read_bytes()))
    return pictures
