"""A task: is this fruit ripe?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel

from prumo.report.language import Language
from prumo_serve.classification import TASK as CLASSIFICATION
from prumo_serve.classification import probabilities_of
from prumo_serve.compare.quality import Judged, Truth
from prumo_serve.manifest import Manifest
from prumo_serve.task import Answer, PreparedImage, Task, TaskPage

RIPE = 1


class RipenessDocument(BaseModel):
    """What `POST /invocations` answers."""

    label: str | None
    pick: bool | None
    probability: float | None


class Ripeness(Task):
    """Two classes and one decision: pick it, or wait."""

    summary = "whether a fruit is ripe"
    labels = ("unripe", "ripe")
    answer_model = RipenessDocument

    def answer(
        self, manifest: Manifest, scores: np.ndarray | None, prepared: PreparedImage
    ) -> Answer:
        """The more probable of the two."""
        if scores is None:
            return Answer(self.labels, (), None)
        probabilities = probabilities_of(scores, manifest.output, len(self.labels))
        return Answer(self.labels, probabilities, int(probabilities[RIPE] > 0.5))

    def document(self, answer: Answer, language: Language) -> dict[str, Any]:
        """The label, and what to do."""
        pick = None if answer.place is None else answer.place == RIPE
        return {"label": answer.label, "pick": pick, "probability": answer.probability}

    def page(self, manifest: Manifest) -> TaskPage:
        """The list of labels that any classification has."""
        return CLASSIFICATION.page(manifest)

    def judged(self, answers: Sequence[Answer], truths: Sequence[Truth]) -> Judged:
        """Judged as any classification."""
        return CLASSIFICATION.judged(answers, truths)


TASK = Ripeness()
