"""Predictions as a table on the terminal, as CSV and as JSON, in the reader's language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message
from prumo.quantity import MISSING
from prumo_retina.dataset.data_folder import csv_text
from prumo_retina.grade import CAUTION, UNGRADABLE_IS_REFERRED, Urgency, point_title
from prumo_retina.prediction import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from prumo.report.language import Language
    from prumo_retina.grade import Threshold
    from prumo_retina.model import ModelFolder
    from prumo_retina.prediction import Prediction


_KEYS = {
    "file": "file",
    "eye": "eye_label",
    "quality": "quality_label",
    "reason": "reason",
    "grade": "grade",
    "grade_title": "grade_label",
    "probability": "probability",
    "severe_or_proliferative_probability": "severe_or_proliferative_probability",
    "threshold": "threshold",
    "refer": "refer_label",
    "urgency": "urgency_label",
    "heat_map": "heat_map",
    "model": "model",
    "model_version": "model_version",
}
"""Column of the CSV file → key of what stands in it."""
COLUMNS = tuple(_KEYS)
_EYES = {"L": "left", "R": "right", "": ""}
_STYLES = {Urgency.URGENT: "bold red", Urgency.UNGRADABLE: "yellow", Urgency.REFER: "red"}


@dataclass(frozen=True)
class PredictionReport:
    """Predictions, and what made them."""

    predictions: Sequence[Prediction]
    model: ModelFolder
    threshold: Threshold


def print_predictions(report: PredictionReport, console: Console, language: Language) -> None:
    """A row for each photograph, and what a reader must know about all of them."""
    with_grades = report.model.description.task == "grade"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(language.say("file"), overflow="fold")
    table.add_column(language.say("eye"))
    table.add_column(language.say("quality"), overflow="fold")
    if with_grades:
        table.add_column(language.say("grade"), overflow="fold")
        severe = language.say("probability of severe or proliferative")
        table.add_column(severe, justify="right")
    table.add_column(language.say("probability of referral"), justify="right")
    table.add_column(language.say("threshold"), justify="right")
    table.add_column(language.say("answer"), overflow="fold")
    for prediction in report.predictions:
        told = _entry(prediction, language)
        quality = filter(None, (told["quality_label"], told["reason"]))
        cells = [told["file"], told["eye_label"], ": ".join(quality)]
        if with_grades:
            cells += [
                MISSING if prediction.grade is None else f"{told['grade']} {told['grade_label']}",
                _probability(prediction.threat_probability, language),
            ]
        cells += [
            _probability(prediction.probability, language),
            _probability(report.threshold.value, language),
        ]
        answer = Text(told["urgency_label"], style=_STYLES.get(prediction.urgency, ""))
        table.add_row(*map(Text, cells), answer)
    console.print(table)
    for note in notes(report):
        console.print(Text(language.say(note)))


def predictions_csv(report: PredictionReport, language: Language) -> str:
    """A table for other programs: English names of columns, words in the reader's language."""
    common = {
        "threshold": report.threshold.value,
        "model": report.model.description.name,
        "model_version": report.model.version,
    }
    entries = (_entry(prediction, language) | common for prediction in report.predictions)
    return csv_text(COLUMNS, ([_cell(entry[key]) for key in _KEYS.values()] for entry in entries))


def _cell(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.6f}"
    return "" if value is None else value


def predictions_document(report: PredictionReport, language: Language) -> dict[str, Any]:
    """For JSON: keys and codes are the same in every language, labels are not."""
    description = report.model.description
    return {
        "model": {
            "name": description.name,
            "version": report.model.version,
            "network_sha256": description.network_sha256,
            "task": description.task,
            "created": description.created,
        },
        "threshold": report.threshold.value,
        "point": report.threshold.point or None,
        "language": language.tag,
        "notes": [language.say(note) for note in notes(report)],
        "predictions": [_entry(prediction, language) for prediction in report.predictions],
    }


def notes(report: PredictionReport) -> list[Message]:
    """What must be said with every answer, whoever reads it."""
    threshold = report.threshold
    model = {
        "name": report.model.description.name,
        "version": report.model.version,
        "threshold": threshold.value,
        "point": point_title(threshold.point),
    }
    lines = [
        Message(
            "Model {name}, version {version}; refers from a probability of {threshold:.3f} on "
            "(operating point {point})."
            if threshold.point
            else "Model {name}, version {version}; refers from a probability of {threshold:.3f} on "
            "(a threshold of your own, which nothing is known about).",
            model,
        ),
        Message(
            "The grade is the most probable one; the probability of a referral, that of grades 2 "
            "to 4 together, decides by itself."
            if report.model.description.task == "grade"
            else "This model knows no grades, only whether to refer, so nothing can be called "
            "urgent; for that, train with --task grade."
        ),
        UNGRADABLE_IS_REFERRED,
        CAUTION,
    ]
    if any(prediction.heat_map for prediction in report.predictions):
        lines.append(
            Message(
                "A heat map shows where a photograph spoke for a referral, in colours relative to "
                "that photograph; it does not outline lesions."
            )
        )
    return lines


def _entry(prediction: Prediction, language: Language) -> dict[str, Any]:
    grade = prediction.grade
    return {
        "file": printable(prediction.file),
        "eye": prediction.eye or None,
        "eye_label": language.say(_EYES[prediction.eye]),
        "quality": prediction.quality.verdict.value,
        "quality_label": language.say(prediction.quality.verdict.label),
        # It may cite what a broken file holds.
        "reason": printable(language.told(prediction.quality.reason)),
        "grade": None if grade is None else int(grade),
        "grade_label": None if grade is None else language.say(grade.title),
        "grade_probabilities": list(prediction.grade_probabilities) or None,
        "probability": prediction.probability,
        "severe_or_proliferative_probability": prediction.threat_probability,
        "refer": prediction.refer,
        "refer_label": language.say("yes" if prediction.refer else "no"),
        "urgency": prediction.urgency.value,
        "urgency_label": language.say(prediction.urgency.label),
        "heat_map": None if prediction.heat_map is None else printable(prediction.heat_map),
    }


def _probability(value: float | None, language: Language) -> str:
    return MISSING if value is None else language.formatted(value, ".3f")


def worklist(predictions: Iterable[Prediction]) -> list[Prediction]:
    """The most urgent first; those of one urgency by probability, equal ones as they were given.

    Urgent ones go by the probability of severe or proliferative retinopathy, all others by that of
    a referral. What cannot be judged follows the urgent ones: nobody knows what it hides.
    """
    return sorted(predictions, key=_place)


def _place(prediction: Prediction) -> tuple[int, float]:
    rank = list(Urgency).index(prediction.urgency)
    if prediction.urgency is Urgency.URGENT:
        return rank, -(prediction.threat_probability or 0.0)
    return rank, -(prediction.probability or 0.0)
