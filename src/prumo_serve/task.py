"""What the answers of a model mean: the interface of the plug-ins in the group `prumo.tasks`.

A *task* joins three things: how an image becomes a network's input, what a row of the network's
scores means, and how the answer is shown. A manifest names its task; everything else in this
package asks the task and knows no application.

A package adds one in its `pyproject.toml`, as an instance of a subclass of `Task`:

    [project.entry-points."prumo.tasks"]
    ripeness = "my_package.ripeness:TASK"
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from prumo.errors import PluginError
from prumo.plugins import TASKS

if TYPE_CHECKING:
    import numpy as np
    from pydantic import BaseModel

    from prumo.message import Message
    from prumo.progress import Progress
    from prumo.report.language import Language
    from prumo_serve.compare.quality import ImageRequest, Judged, LabelledImages, Truth
    from prumo_serve.image_folder import ImageFolder
    from prumo_serve.manifest import Input, Manifest, OperatingPoint, PreprocessingSettings
    from prumo_serve.source import Source

MOST_PIXELS = 50_000_000
"""Of one image where nobody chose another limit: 150 MB once decoded, more than cameras give."""


@dataclass(frozen=True)
class PreparedImage:
    """An image ready for a network, or the reason why none should be asked."""

    pixels: np.ndarray | None
    """In the network's layout and type without the batch's axis; None where it may not judge."""
    picture: np.ndarray | None
    """The same as RGB bytes, (row, column, channel), for people to look at."""
    width: int
    """Of the whole image in pixels, as is the height."""
    height: int
    quality: object = None
    """What the task's preprocessing found out about the image; only the task reads it."""
    decode_seconds: float = 0.0
    preprocess_seconds: float = 0.0


JUDGED = PreparedImage(None, None, 0, 0)
"""For answers to images that can be judged, which need nothing else of them."""


class Preprocessing(Protocol):
    """Makes images ready for one network. May be called from several threads at once."""

    def prepared(self, image: bytes | np.ndarray) -> PreparedImage:
        """The very pixels that the network was trained on.

        Args:
            image: A JPEG or PNG, or an array of pixels from 0 to 255, (height, width, RGB).

        Raises:
            BadImageError: The image cannot be read.
            TooManyPixelsError: Its header promises more pixels than are decoded.
        """


@dataclass(frozen=True)
class Answer:
    """What a model says about one image; a task adds its own fields in a subclass."""

    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    """One for each label; none where the image cannot be judged."""
    place: int | None
    """Of the answer among the labels."""

    @property
    def label(self) -> str | None:
        """The answer in a word; None where there is none."""
        return None if self.place is None else self.labels[self.place]

    @property
    def probability(self) -> float | None:
        """Of the label."""
        return None if self.place is None else self.probabilities[self.place]


@dataclass(frozen=True)
class TaskPage:
    """A task's part of the page for people, where images are dropped and answers listed."""

    texts: Mapping[str, Message]
    """At least `title`, `caution` and `worklist`; braces are filled in by the script."""
    script: str
    """JavaScript that defines the object `task`; `server/page/script/classification.js` shows what
    it must have."""
    style: str = ""
    footnote: str = ""
    """The name of a text that stands below the list."""
    columns: tuple[Message, ...] = ()
    """Of the table that can be saved, by the names that programs know."""
    words: Mapping[str, Mapping[str, Message | str]] = field(default_factory=dict)
    """Kind → what programs call it → what people call it, in English."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the script reads, under `data.task`."""


class Task(ABC):
    """One kind of answer. Only `answer` and what is abstract here must be written.

    >>> task_named("classification").summary
    'one of several classes'
    """

    summary: ClassVar[str]
    """What a model answers, as `prumo model show` says it."""
    labels: ClassVar[tuple[str, ...]] = ()
    """Where they are always the same; otherwise whoever packages a model names them."""
    point_meaning: ClassVar[str] = ""
    """What an operating point decides; a task with a meaning wants one for each model."""
    point_verb: ClassVar[str] = ""
    """What the model does from that point on, such as `rejects`."""
    answer_model: ClassVar[type[BaseModel]]
    """The fields of `document`, from which the server's OpenAPI document is made."""
    outputs: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What the Open Inference Protocol gives beside `probabilities` and `label` → its datatype."""

    def check(self, manifest: Manifest) -> None:
        """Raise a ValueError where a manifest makes no sense for this task."""
        del manifest

    def preprocessing_settings(self) -> Mapping[str, type[PreprocessingSettings]]:
        """The kinds of `input.preprocessing` that a manifest of this task may have."""
        from prumo_serve.manifest import ImagePreprocessing  # noqa: PLC0415 (it imports this)

        return {"image": ImagePreprocessing}

    def preprocessing(self, wanted: Input, most_pixels: int = MOST_PIXELS) -> Preprocessing:
        """What makes images ready; here: any image in the network's size."""
        from prumo_serve.preprocessing.image import ImageFitting  # noqa: PLC0415 (imports OpenCV)

        return ImageFitting(wanted, most_pixels)

    def preprocessing_summary(self, wanted: Input) -> str:
        """What becomes of an image, as `prumo model show` says it."""
        how = wanted.preprocessing.model_dump()
        return ", ".join(["any image", *(str(how[name]) for name in how if name != "kind")])

    def tensor_note(self, manifest: Manifest) -> str:
        """What a tensor skips that an image goes through."""
        del manifest
        return "it is neither resized nor normalized."

    @abstractmethod
    def answer(
        self, manifest: Manifest, scores: np.ndarray | None, prepared: PreparedImage
    ) -> Answer:
        """The answer to one image.

        Args:
            manifest: Of the model.
            scores: A row of the network's output; None where the network was not asked because
                the preprocessing gave no pixels.
            prepared: The image as the network saw it.

        Raises:
            ScoresError: The network gave something else than the manifest says.
        """

    @abstractmethod
    def document(self, answer: Answer, language: Language) -> dict[str, Any]:
        """What `POST /invocations` answers for one image, without model and timings.

        What programs read is the same in all languages; texts beside it are for people.
        """

    def output_value(self, name: str, answer: Answer) -> float | str | bool | None:
        """One of `outputs`."""
        del answer
        raise KeyError(name)

    @abstractmethod
    def page(self, manifest: Manifest) -> TaskPage:
        """Its part of the page for people."""

    def source(self, path: Path) -> Source | None:
        """The model in a folder that this task's own tools wrote; None for any other folder.

        Raises:
            InputError: It is one of theirs, but not whole.
        """
        del path
        return None

    def card_cautions(self) -> Iterable[Message]:
        """What a short model card must warn of."""
        return ()

    def point_message(self, point: OperatingPoint) -> Message:
        """An operating point in a model card."""
        from prumo.message import Message  # noqa: PLC0415 (an answer needs none of it)

        return Message(
            "{name}: from a probability of {threshold:.3f} on",
            {"name": point.name, "threshold": point.threshold},
        )

    def prepared_images(self, path: Path, manifest: Manifest) -> ImageFolder | None:
        """The images of a folder that this task's own tools prepared; None for any other folder.

        Raises:
            DataError: The network would see other pixels than it has learnt from.
        """
        del path, manifest
        return None

    def labelled_images(
        self, request: ImageRequest, manifest: Manifest, progress: Progress
    ) -> LabelledImages:
        """Images whose right answer is known; here: from a table, or from names of folders."""
        from prumo_serve.compare.quality import classified_images  # noqa: PLC0415 (only to compare)

        del progress
        return classified_images(request, manifest)

    @abstractmethod
    def judged(self, answers: Sequence[Answer], truths: Sequence[Truth]) -> Judged:
        """Answers beside what is true, for `prumo model compare`."""


@cache
def task_named(name: str) -> Task:
    """The installed task of a name."""
    found = TASKS.load(name)
    if not isinstance(found, Task):
        raise PluginError(f"the task '{name}' is no instance of prumo_serve.task.Task")
    return found


def installed_tasks() -> Iterator[Task]:
    """Every task that can be imported; one that is broken must not stop the others."""
    for name in TASKS.names():
        with suppress(PluginError):
            yield task_named(name)


def preprocessing(manifest: Manifest, most_pixels: int = MOST_PIXELS) -> Preprocessing:
    """The preprocessing that a model was trained with; what it needs is imported only now."""
    return task_named(manifest.task).preprocessing(manifest.input, most_pixels)
