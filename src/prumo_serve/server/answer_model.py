"""The pydantic model of an answer, by the labels and the task of the model that is served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from prumo_serve.answer import answer_document

if TYPE_CHECKING:
    from prumo.report.language import Language
    from prumo_serve.answer import Answer
    from prumo_serve.manifest import Manifest

_Share = Annotated[float, Field(ge=0, le=1)]


class ImageAnswer(BaseModel):
    """What every model says of an image."""

    label: str | None
    label_text: Annotated[str | None, Field(description="In the wanted language.")]
    probability: Annotated[_Share | None, Field(description="Of the label.")]
    probabilities: Annotated[
        dict[str, _Share], Field(description="Empty where a photograph cannot be judged.")
    ]


class QualityAnswer(BaseModel):
    """Whether a photograph can be judged, and if not, why."""

    verdict: str
    verdict_text: str
    reason: str


class RetinaAnswer(ImageAnswer):
    """What a model of the retina says of a photograph."""

    grade: Annotated[int, Field(ge=0, le=4)] | None
    refer: bool
    referral_probability: _Share | None
    severe_or_proliferative_probability: _Share | None
    threshold: _Share
    point: str
    urgency: Literal["urgent", "ungradable", "refer", "none"]
    urgency_text: str


def answer_model(manifest: Manifest) -> type[BaseModel]:
    """The answer to one image, with the labels that the model knows."""
    label: Any = Literal[manifest.labels]
    fields: dict[str, Any] = {
        "label": label | None,
        "probabilities": Annotated[
            dict[label, _Share], Field(description="Empty where a photograph cannot be judged.")
        ],
    }
    if manifest.input.preprocessing.kind == "fundus":
        fields["quality"] = QualityAnswer
    base = ImageAnswer if manifest.task == "classification" else RetinaAnswer
    return create_model("Answer", __base__=base, **fields)


def answer_fields(answer: Answer, language: Language) -> dict[str, Any]:
    """The fields of that model for one answer."""
    fields = answer_document(answer, language)
    if "quality" in fields:
        fields["quality"] = QualityAnswer.model_construct(**fields["quality"])
    return fields
