"""Image classification: the answer is the most probable label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from prumo_serve.probability import probabilities_of
from prumo_serve.task import Answer, Task, TaskPage

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from prumo.report.language import Language
    from prumo_serve.compare.images import Truth
    from prumo_serve.compare.quality import Judged
    from prumo_serve.manifest import Manifest
    from prumo_serve.task import PreparedImage

_TWO = 2
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
        import numpy as np  # noqa: PLC0415 (as below)

        from prumo_serve.compare.quality import Decision, Judged  # noqa: PLC0415 (only to compare)

        told = np.array([answer.place for answer in answers], dtype=np.intp)
        true = np.array([truth.place for truth in truths], dtype=np.intp)
        probabilities = np.array([answer.probabilities for answer in answers])
        decision = None
        if probabilities.shape[1] == _TWO:
            decision = Decision(told == 1, true == 1, probabilities[:, 1])
        return Judged.of(told, true, probabilities, truths, decision=decision)


TASK = Classification()
