"""Scores as probabilities, and the task of classifying images by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from prumo.errors import PrumoError
from prumo_serve.task import Answer, Task, TaskPage

if TYPE_CHECKING:
    from prumo.report.language import Language
    from prumo_serve.compare.quality import Judged, Truth
    from prumo_serve.manifest import Manifest, Output
    from prumo_serve.task import PreparedImage


_TOLERANCE = 1e-3
"""Half precision and int8 round probabilities by less."""


class ScoresError(PrumoError):
    """A network gave something else than its manifest says."""


def probabilities_of(scores: np.ndarray, output: Output, labels: int) -> tuple[float, ...]:
    """One probability for each label, from a row of the network's output.

    One output with two labels is the probability of the second one.

    >>> from prumo_serve.manifest import Output
    >>> probabilities_of(np.array([0.0, 0.0]), Output(tensor="y", kind="scores"), 2)
    (0.5, 0.5)
    """
    # A temperature of almost nothing makes scores infinite, of which numpy would warn in the log.
    with np.errstate(over="ignore"):
        values = np.asarray(scores, np.float64).reshape(-1) / output.temperature
    if not np.isfinite(values).all():
        raise ScoresError("the network's answer is not a number")
    if len(values) == 1 and output.activation == "softmax":
        raise ScoresError("the network gave one number, of which softmax always makes 1")
    if output.kind == "probabilities":
        if values.min(initial=0) < -_TOLERANCE or values.max(initial=0) > 1 + _TOLERANCE:
            raise ScoresError(
                "the network's answers are not from 0 to 1: the manifest calls them "
                "probabilities, but they are scores"
            )
        values = np.clip(values, 0, 1)
    else:
        values = _sigmoid(values) if output.activation == "sigmoid" else _softmax(values)
    if len(values) == 1 and labels == 2:  # noqa: PLR2004 (yes and no)
        values = np.array([1 - values[0], values[0]])
    if len(values) != labels:
        raise ScoresError(f"the network gave {len(values)} numbers for {labels} labels")
    return tuple(values.tolist())


def _softmax(scores: np.ndarray) -> np.ndarray:
    # The largest is taken off, so that no power overflows.
    powers = np.exp(scores - scores.max())
    shares: np.ndarray = powers / powers.sum()
    return shares


def _sigmoid(scores: np.ndarray) -> np.ndarray:
    # Only powers of negative numbers, which cannot overflow.
    power = np.exp(-np.abs(scores))
    probabilities: np.ndarray = np.where(scores >= 0, 1, power) / (1 + power)
    return probabilities


Share = Annotated[float, Field(ge=0, le=1)]
"""A probability in a document."""


class ClassificationDocument(BaseModel):
    """What is said about one image."""

    model_config = ConfigDict(extra="forbid")

    label: str | None
    label_text: str | None = Field(description="In the wanted language.")
    probability: Share | None = Field(description="Of the label.")
    probabilities: dict[str, Share] = Field(
        description="Empty where a photograph cannot be judged."
    )


def label_document(answer: Answer, language: Language) -> dict[str, Any]:
    """The fields that an answer with labels has, whatever else its task adds."""
    return {
        "label": answer.label,
        "label_text": None if answer.label is None else language.say(answer.label),
        "probability": answer.probability,
        "probabilities": dict(zip(answer.labels, answer.probabilities, strict=False)),
    }


class Classification(Task):
    """One of several classes."""

    summary = "one of several classes"
    answer_model = ClassificationDocument

    def answer(
        self, manifest: Manifest, scores: np.ndarray | None, prepared: PreparedImage
    ) -> Answer:
        """The most probable label."""
        del prepared
        if scores is None:
            return Answer(manifest.labels, (), None)
        probabilities = probabilities_of(scores, manifest.output, len(manifest.labels))
        return Answer(manifest.labels, probabilities, probabilities.index(max(probabilities)))

    def document(self, answer: Answer, language: Language) -> dict[str, Any]:
        """The label and all probabilities."""
        return label_document(answer, language)

    def page(self, manifest: Manifest) -> TaskPage:
        """A list of labels."""
        from prumo_serve.server.page import classification_page  # noqa: PLC0415 (few look at it)

        del manifest
        return classification_page()

    def judged(self, answers: Sequence[Answer], truths: Sequence[Truth]) -> Judged:
        """By labels; of two classes, the second one is what is looked for."""
        from prumo_serve.compare.quality import (  # noqa: PLC0415 (only to compare)
            Decision,
            Judged,
            patients_of,
        )

        predicted = np.array([answer.place for answer in answers], dtype=np.intp)
        true = np.array([truth.place for truth in truths], dtype=np.intp)
        probabilities = np.array([answer.probabilities for answer in answers])
        decision = None
        if probabilities.shape[1] == 2:  # noqa: PLR2004 (yes and no)
            decision = Decision(predicted == 1, true == 1, probabilities[:, 1])
        return Judged(predicted, true, probabilities, patients_of(truths), decision)


TASK = Classification()
