"""What an evaluation leaves behind, in a folder beside the model that it judged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from prumo.report.file import write_file
from prumo.retina.card.block import Drawing
from prumo.retina.card.content import card
from prumo.retina.card.html import html
from prumo.retina.card.markdown import markdown
from prumo.retina.evaluation.document import document, predictions
from prumo.retina.evaluation.heat_maps import chosen_images, write_heat_maps

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo.retina.evaluation.evaluation import Evaluation

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
