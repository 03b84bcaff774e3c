"""The tasks `referral` and `grade`: what a network's scores say about a fundus photograph."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from prumo.message import Message
from prumo_retina.fundus.preparation import Part, Preparation, Quality
from prumo_retina.grade import (
    DECISION_SUPPORT,
    GRADE_COUNT,
    OTHER_DISEASES,
    REFERABLE_FROM,
    Grade,
    Urgency,
    threat_probability,
    urgency_of,
)
from prumo_retina.model import MODEL_FILE, NETWORK_FILE, SEEN_FILE, open_model, read_seen
from prumo_serve.choices import INSIDE
from prumo_serve.classification import (
    ClassificationDocument,
    Share,
    label_document,
    probabilities_of,
)
from prumo_serve.manifest import OperatingPoint, PreprocessingSettings
from prumo_serve.source import ModelMetadata, Source
from prumo_serve.task import MOST_PIXELS, Answer, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo_serve.compare.quality import ImageRequest, Judged, LabelledImages, Truth
    from prumo_serve.image_folder import ImageFolder
    from prumo_serve.manifest import Input, Manifest
    from prumo_serve.task import PreparedImage, Preprocessing, TaskPage

_MORE_PROBABLE_THAN_NOT = 0.5
_YES = 1
_FUNDUS = "fundus"
# As `prumo_retina.evaluation.files` names them, whose imports take a second.
_CARDS = "evaluation/*/card.md"


class FundusPreprocessing(PreprocessingSettings):
    """A fundus photograph is found, cut out and judged as in training."""

    kind: Literal["fundus"] = "fundus"
    preparation: dict[str, int | str]
    """As `Preparation` reads it."""

    @field_validator("preparation")
    @classmethod
    def _require_known_preparation(cls, value: dict[str, int | str]) -> dict[str, int | str]:
        Preparation.model_validate(value)
        return value


@dataclass(frozen=True)
class Referral:
    """Whether a specialist should see the person, and how soon."""

    refer: bool
    urgency: Urgency
    threshold: float
    point: str
    """The operating point of the threshold; empty where the model has none."""
    probability: float | None = None
    """None where the photograph cannot be judged."""
    grade: Grade | None = None
    threat_probability: float | None = None
    """Of severe or proliferative retinopathy, where the model knows grades."""


@dataclass(frozen=True)
class RetinaAnswer(Answer):
    """What a model says about one photograph."""

    referral: Referral
    quality: Quality | None = None


class QualityDocument(Part):
    """Whether a photograph can be judged, and if not, why."""

    verdict: str
    verdict_text: str
    reason: str


class ReferralDocument(ClassificationDocument):
    """What is said about one photograph."""

    grade: int | None = Field(ge=0, lt=GRADE_COUNT)
    refer: bool
    referral_probability: Share | None
    severe_or_proliferative_probability: Share | None
    threshold: Share
    point: str
    urgency: Urgency
    urgency_text: str
    quality: QualityDocument


class RetinopathyTask(Task):
    """Diabetic retinopathy; the two tasks differ in the classes that the network distinguishes."""

    point_meaning = "from which probability on it refers"
    point_verb = "refers"
    answer_model = ReferralDocument
    outputs = MappingProxyType({"refer": "BOOL", "referral_probability": "FP32"})

    def check(self, manifest: Manifest) -> None:
        """Refuse another number of labels."""
        if len(manifest.labels) != len(self.labels):
            raise ValueError(f"a model of the task {manifest.task} has {len(self.labels)} labels")

    def preprocessing_settings(self) -> Mapping[str, type[PreprocessingSettings]]:
        """Fundus photographs, or images that others have prepared."""
        return {**super().preprocessing_settings(), _FUNDUS: FundusPreprocessing}

    def preprocessing(self, wanted: Input, most_pixels: int = MOST_PIXELS) -> Preprocessing:
        """A fundus is found, cut out and judged as in training."""
        if wanted.preprocessing.kind != _FUNDUS:
            return super().preprocessing(wanted, most_pixels)
        from prumo_retina.fundus.preprocessing import made  # noqa: PLC0415 (it imports OpenCV)

        return made(wanted, most_pixels)

    def preprocessing_summary(self, wanted: Input) -> str:
        """With the settings of the preparation."""
        how = wanted.preprocessing
        if not isinstance(how, FundusPreprocessing):
            return super().preprocessing_summary(wanted)
        settings = ", ".join(f"{name} {value}" for name, value in how.preparation.items())
        return f"fundus found, cut out and judged ({settings})"

    def tensor_note(self, manifest: Manifest) -> str:
        """What a tensor skips that a photograph goes through."""
        if manifest.input.preprocessing.kind != _FUNDUS:
            return super().tensor_note(manifest)
        return (
            "no fundus is found and no quality is judged, so that a photograph which nobody could "
            "judge gets an answer too. For photographs send BYTES, or POST /invocations."
        )

    def answer(
        self, manifest: Manifest, scores: np.ndarray | None, prepared: PreparedImage
    ) -> RetinaAnswer:
        """The answer to one photograph; one that cannot be judged counts as a referral."""
        quality = prepared.quality if isinstance(prepared.quality, Quality) else None
        threshold, point = deciding_point(manifest)
        if scores is None:
            unjudged = Referral(True, Urgency.UNGRADABLE, threshold, point)
            return RetinaAnswer(manifest.labels, (), None, unjudged, quality)
        probabilities = probabilities_of(scores, manifest.output, len(manifest.labels))
        most_probable = probabilities.index(max(probabilities))
        grades = probabilities if self._knows_grades else ()
        probability = sum(grades[REFERABLE_FROM:]) if grades else probabilities[_YES]
        refer = probability >= threshold
        referral = Referral(
            refer=refer,
            urgency=urgency_of(refer, grades),
            threshold=threshold,
            point=point,
            probability=probability,
            grade=Grade(most_probable) if grades else None,
            threat_probability=threat_probability(grades) if grades else None,
        )
        # Without grades the threshold decides, and the label says what was decided.
        place = most_probable if grades else int(refer)
        return RetinaAnswer(manifest.labels, probabilities, place, referral, quality)

    @property
    def _knows_grades(self) -> bool:
        return len(self.labels) == GRADE_COUNT

    def document(self, answer: Answer, language: Language) -> dict[str, Any]:
        """Labels, the referral and the photograph's quality."""
        document = label_document(answer, language)
        if not isinstance(answer, RetinaAnswer):
            return document
        referral, quality = answer.referral, answer.quality
        document |= {
            "grade": None if referral.grade is None else int(referral.grade),
            "refer": referral.refer,
            "referral_probability": referral.probability,
            "severe_or_proliferative_probability": referral.threat_probability,
            "threshold": referral.threshold,
            "point": referral.point,
            "urgency": referral.urgency.value,
            "urgency_text": language.say(referral.urgency.label),
        }
        if quality:
            document["quality"] = {
                "verdict": quality.verdict.value,
                "verdict_text": language.say(quality.verdict.label),
                "reason": language.told(quality.reason),
            }
        return document

    def output_value(self, name: str, answer: Answer) -> float | str | bool | None:
        """Whether to refer, and how probable that it is due."""
        if not isinstance(answer, RetinaAnswer):
            return super().output_value(name, answer)
        return answer.referral.refer if name == "refer" else answer.referral.probability

    def page(self, manifest: Manifest) -> TaskPage:
        """A worklist, the most urgent first."""
        from prumo_retina.page import task_page  # noqa: PLC0415 (few look at it)

        return task_page(manifest)

    def source(self, path: Path) -> Source | None:
        """The model in a folder that `prumo retina train` wrote."""
        # Even one that is not whole, which is refused with the reason.
        is_model = any((path / name).is_file() for name in (MODEL_FILE, NETWORK_FILE))
        return _trained_source(path) if is_model else None

    def card_cautions(self) -> Iterable[Message]:
        """That a person decides, and what the model does not judge."""
        return (DECISION_SUPPORT, OTHER_DISEASES)

    def point_message(self, point: OperatingPoint) -> Message:
        """From where on it refers."""
        return Message(
            "{name}: refers from a probability of {threshold:.3f} on",
            {"name": point.name, "threshold": point.threshold},
        )

    def prepared_images(self, path: Path, manifest: Manifest) -> ImageFolder | None:
        """The photographs of a folder that `prumo retina prepare` made."""
        from prumo_retina import labelled_photographs  # noqa: PLC0415 (not to answer)

        return labelled_photographs.prepared_images(path, manifest)

    def labelled_images(
        self, request: ImageRequest, manifest: Manifest, progress: Progress
    ) -> LabelledImages:
        """Photographs with their grades, prepared or not."""
        from prumo_retina import labelled_photographs  # noqa: PLC0415 (not to answer)

        return labelled_photographs.labelled_photographs(request, manifest, progress)

    def judged(self, answers: Sequence[Answer], truths: Sequence[Truth]) -> Judged:
        """By the label, and by who is referred."""
        from prumo_retina import labelled_photographs  # noqa: PLC0415 (not to answer)

        return labelled_photographs.judged(answers, truths, knows_grades=self._knows_grades)


class _ReferralTask(RetinopathyTask):
    summary = "whether a fundus photograph should be seen by a specialist"
    labels = ("no referral", "refer")


class _GradeTask(RetinopathyTask):
    summary = "the grade of diabetic retinopathy, and a referral"
    labels = tuple(grade.title for grade in Grade)


REFERRAL = _ReferralTask()
GRADE = _GradeTask()


def deciding_point(manifest: Manifest) -> tuple[float, str]:
    """The threshold on the probability of a referral and its point's name.

    A model without points refers what is more probable than not.
    """
    for point in manifest.points:
        if point.name == manifest.point:
            return point.threshold, point.name
    return _MORE_PROBABLE_THAN_NOT, ""


def _trained_source(folder: Path) -> Source:
    """The model of a folder with its points, its temperature and the card last made of it."""
    description = open_model(folder).description
    # Only hashes: nothing else about a photograph leaves the folder.
    hashes = (
        {photograph.sha256 for photograph in read_seen(folder)} - {""}
        if (folder / SEEN_FILE).is_file()
        else set()
    )
    cards = [path for path in folder.glob(_CARDS) if path.is_file()]
    newest = max(cards, key=lambda path: (path.stat().st_mtime_ns, path), default=None)
    metadata = ModelMetadata(
        name=description.name,
        created=description.created,
        task=description.task,
        labels=REFERRAL.labels if description.task == "referral" else GRADE.labels,
        normalization=INSIDE,
        preprocessing=FundusPreprocessing(
            preparation=description.preparation.model_dump(mode="json")
        ),
        temperature=description.temperature,
        points=tuple(
            OperatingPoint(name=point.name, threshold=point.threshold, rule=point.rule)
            for point in description.points
        ),
        point=description.point,
        card=newest.read_text("utf-8") if newest else "",
        seen=tuple(sorted(hashes)),
    )
    return Source(folder / NETWORK_FILE, "retina", description.network_sha256, metadata)
