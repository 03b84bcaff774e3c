"""Retinopathy's part of the page for people: a worklist, the most urgent first."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.report.language import LANGUAGES, language
from prumo_retina.fundus.preparation import Verdict
from prumo_retina.grade import (
    CAUTION,
    REFERABLE_FROM,
    UNGRADABLE_IS_REFERRED,
    Urgency,
    point_label,
)
from prumo_retina.task import deciding_point
from prumo_serve.task import TaskPage

if TYPE_CHECKING:
    from prumo_serve.manifest import Manifest

_TEXTS = {
    "title": Message("Photographs of the retina"),
    "caution": CAUTION,
    "ungradable": UNGRADABLE_IS_REFERRED,
    "worklist": Message("Worklist, the most urgent first"),
    "grade": Message("Grade"),
    "referral_probability": Message("Probability of a referral"),
    "threat_probability": Message("Severe or proliferative"),
    "threshold": Message("refer from {threshold} on"),
    "threshold_of": Message("refer from {threshold} on ({point})"),
    "quality": Message("Quality"),
    "refer_reason": Message(
        "Referred because the probability of a referral, {probability}, reaches the threshold of "
        "{threshold}, though the most probable single grade would not be referred."
    ),
    "foreign": Message("not a JPEG or PNG photograph"),
}
_COLUMNS = (
    Message("file"),
    Message("quality"),
    Message("reason"),
    Message("grade"),
    Message("grade_title"),
    Message("probability"),
    Message("severe_or_proliferative_probability"),
    Message("threshold"),
    Message("refer"),
    Message("urgency"),
)


def task_page(manifest: Manifest) -> TaskPage:
    """The texts, script and style for a model with this manifest."""
    threshold, point = deciding_point(manifest)
    return TaskPage(
        texts=_TEXTS,
        script=_source("page.js"),
        style=_source("page.css"),
        footnote="ungradable",
        columns=_COLUMNS,
        words={
            "urgencies": {urgency.value: urgency.label for urgency in Urgency},
            "verdicts": {verdict.value: verdict.label for verdict in Verdict},
        },
        data={
            "threshold": threshold,
            "points": {tag: point_label(point, language(tag)) for tag in LANGUAGES},
            "referableFrom": int(REFERABLE_FROM),
            "urgencies": [urgency.value for urgency in Urgency],
        },
    )


def _source(name: str) -> str:
    return (files("prumo_retina.page") / name).read_text("utf-8")
