"""Predictions as a table on the terminal, as CSV and as JSON, in the reader's language."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message
from prumo.quantity import MISSING
from prumo_retina.grade import Urgency, point_title
from prumo_retina.prediction import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from prumo.report.language import Language
    from prumo_retina.grade import Threshold
    from prumo_retina.model import ModelFolder
    from prumo_retina.prediction import Prediction


COLUMNS = (
    "file",
    "eye",
    "quality",
    "reason",
    "grade",
    "grade_title",
    "probability",
    "severe_or_proliferative_probability",
    "threshold",
    "refer",
    "urgency",
    "heat_map",
    "model",
    "model_version",
)
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
        cells = [
            printable(prediction.file),
            _eye(prediction, language),
            _quality(prediction, language),
        ]
        if with_grades:
            cells.append(_grade(prediction, language))
            cells.append(_probability(prediction.threat_probability, language))
        cells += [
            _probability(prediction.probability, language),
            language.formatted(report.threshold.value, ".3f"),
        ]
        style = _STYLES.get(prediction.urgency, "")
        answer = Text(language.say(prediction.urgency.label), style=style)
        table.add_row(*map(Text, cells), answer)
    console.print(table)
    for note in notes(report):
        console.print(Text(language.say(note)))


def predictions_csv(report: PredictionReport, language: Language) -> str:
    """A table for other programs: English names of columns, words in the reader's language."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for prediction in report.predictions:
        row = _entry(prediction, language)
        grade = "" if row["grade"] is None else row["grade"]
        writer.writerow(
            [
                row["file"],
                row["eye_label"],
                row["quality_label"],
                row["reason"],
                grade,
                row["grade_label"] or "",
                _csv_probability(row["probability"]),
                _csv_probability(row["severe_or_proliferative_probability"]),
                _csv_probability(report.threshold.value),
                row["refer_label"],
                row["urgency_label"],
                row["heat_map"] or "",
                report.model.description.name,
                report.model.version,
            ]
        )
    return text.getvalue()


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
        Message("A photograph that cannot be judged counts as a referral."),
        Message(
            "Decision support for diabetic retinopathy, not a diagnosis: a health professional "
            "decides. Macular oedema is not judged."
        ),
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
        "eye_label": _eye(prediction, language),
        "quality": prediction.quality.verdict.value,
        "quality_label": language.say(prediction.quality.verdict.label),
        "reason": _reason(prediction, language),
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


def _eye(prediction: Prediction, language: Language) -> str:
    return language.say(_EYES[prediction.eye])


def _reason(prediction: Prediction, language: Language) -> str:
    """It may cite what a broken file holds."""
    return printable(language.told(prediction.quality.reason))


def _quality(prediction: Prediction, language: Language) -> str:
    label = language.say(prediction.quality.verdict.label)
    reason = _reason(prediction, language)
    return f"{label}: {reason}" if reason else label


def _probability(value: float | None, language: Language) -> str:
    return MISSING if value is None else language.formatted(value, ".3f")


def _csv_probability(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def _grade(prediction: Prediction, language: Language) -> str:
    grade = prediction.grade
    return MISSING if grade is None else f"{int(grade)} {language.say(grade.title)}"


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
