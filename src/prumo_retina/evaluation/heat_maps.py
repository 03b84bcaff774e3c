"""Heat maps of chosen photographs: those that were named, or those that were most wrong."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import InputError
from prumo.message import Message
from prumo_retina.card.layout import Picture
from prumo_retina.prediction.overlay import write_overlay
from prumo_retina.scoring import score

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo_retina.evaluation.evaluation import Evaluation
    from prumo_retina.evaluation.material import Material

FOLDER = "heat-maps"
NONE = "0"


def chosen_images(evaluation: Evaluation, wish: str) -> list[str]:
    """The photographs that a wish means: `5` are the five most wrong, else names with commas."""
    gradable = [case for case in evaluation.cases if case.is_gradable]
    require_known_images(wish, evaluation.material)
    if wish.isdecimal():
        truths = np.array([case.is_referable for case in gradable])
        wrong = np.abs(evaluation.decisions.probability - truths)
        return [gradable[place].image for place in np.argsort(-wrong, kind="stable")[: int(wish)]]
    return _names(wish)


def require_known_images(wish: str, material: Material | None) -> None:
    """Refuse a wish for photographs that are not judged.

    Raises:
        InputError: A name is of no gradable photograph, or there are no photographs at all.
    """
    if wish == NONE:
        return
    if material is None:
        raise InputError("heat maps need the photographs: give the data folder too")
    if wish.isdecimal():
        return
    known = {entry.name for entry in material.gradable}
    for name in _names(wish):
        if name not in known:
            raise InputError(f"no gradable photograph '{name}' is judged{_hint(name, known)}")


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
    entries = {entry.image: entry for entry in evaluation.material.gradable}
    paths = [evaluation.material.image(entries[image]) for image in images]
    found = score(evaluation.model, paths, heat_maps=True, progress=progress)
    if found.heat_maps is None:
        return []
    pictures = []
    for image, path, heat_map in zip(images, paths, found.heat_maps, strict=True):
        written = write_overlay(folder / FOLDER / f"{image}.png", path, heat_map)
        title = language.say(_title(evaluation, image))
        pictures.append(Picture(f"{FOLDER}/{written.name}", title, written.read_bytes()))
    return pictures


def _names(wish: str) -> list[str]:
    return [name.strip() for name in wish.split(",") if name.strip()]


def _hint(name: str, known: set[str]) -> str:
    """The nearest name, or one to see how they look: there may be thousands."""
    near = get_close_matches(name, sorted(known), n=1)
    if near:
        return f": did you mean '{near[0]}'?"
    return f"; they are called such as '{min(known)}'" if known else ""


def _title(evaluation: Evaluation, image: str) -> Message:
    gradable = [case for case in evaluation.cases if case.is_gradable]
    place = next(place for place, case in enumerate(gradable) if case.image == image)
    return Message(
        "{image}: true grade {grade}, probability of a referral {probability:.3f}",
        {
            "image": image,
            "grade": gradable[place].grade,
            "probability": float(evaluation.decisions.probability[place]),
        },
    )
