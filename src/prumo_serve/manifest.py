"""What a packaged model is and how it must be used: `manifest.json` beside its network."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from prumo.errors import InputError
from prumo_serve import choices
from prumo_serve.choices import Fit, Layout, Precision, RuntimeName
from prumo_serve.runtimes import runtime_named
from prumo_serve.task import task_named

MANIFEST_FILE = "manifest.json"
SEEN_FILE = "seen.txt"
"""The SHA-256 of every image that a model was made from, one in each line."""
HEAT_MAP_TENSOR = "heat_map"
"""What the small network beside a network calls the map that it makes."""
FORMAT = 1


_Number = Annotated[float, Field(allow_inf_nan=False)]
_Divisor = Annotated[float, Field(gt=0, allow_inf_nan=False)]
# Shown on terminals and pages, and part of a server's paths.
_Name = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f/\\]{1,100}$")]
_Label = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]{1,200}$")]


def _known(name: str, find: Callable[[str], object]) -> str:
    """The name of a plug-in that is installed; a validation error lists those that are."""
    try:
        find(name)
    except InputError as error:
        raise ValueError(str(error)) from None
    return name


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Normalization(_Part):
    """(pixel - offset) / scale for each channel, before the network is asked."""

    offset: tuple[_Number, _Number, _Number] = (0.0, 0.0, 0.0)
    scale: tuple[_Divisor, _Divisor, _Divisor] = (1.0, 1.0, 1.0)
    channels: Literal["rgb", "bgr"] = "rgb"


class PreprocessingSettings(_Part):
    """How an image becomes the network's input; each kind is a subclass that a task knows."""

    kind: str


class ImagePreprocessing(PreprocessingSettings):
    """Any image is resized, whatever it shows."""

    kind: Literal["image"] = "image"
    fit: Fit = "stretch"
    """To the network's size: stretched, or its middle cut out, or black beside it."""
    interpolation: Literal["bilinear", "area", "cubic", "nearest"] = "bilinear"


class Input(_Part):
    """What the network takes."""

    tensor: str
    height: Annotated[int, Field(ge=1, le=4096)]
    width: Annotated[int, Field(ge=1, le=4096)]
    layout: Layout = "NHWC"
    dtype: Literal["float32", "uint8"] = "float32"
    normalization: Normalization | None = None
    """None where the network takes raw pixels from 0 to 255 and normalizes them itself."""
    preprocessing: SerializeAsAny[PreprocessingSettings]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of one image, without the batch's axis."""
        sides = (self.height, self.width)
        return (3, *sides) if self.layout == "NCHW" else (*sides, 3)


class Output(_Part):
    """What the network gives."""

    tensor: str
    kind: Literal["scores", "probabilities"]
    """Whether the activation is still to come."""
    activation: Literal["softmax", "sigmoid"] = "softmax"
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Scores are divided by it before the activation."""

    @model_validator(mode="after")
    def _require_scores_for_a_temperature(self) -> Self:
        if self.kind == "probabilities" and self.temperature != 1:
            raise ValueError("a temperature is for scores; probabilities stay as they are")
        return self


class OperatingPoint(_Part):
    """A threshold on a probability, from which on the task decides for yes."""

    name: _Name
    threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    rule: str = ""


class NetworkFile(_Part):
    """A network in the format of a runtime."""

    file: str
    """Relative to the manifest; a folder for a SavedModel."""
    runtime: Annotated[RuntimeName, AfterValidator(partial(_known, find=runtime_named))]
    precision: Precision = "fp32"

    @model_validator(mode="after")
    def _require_format_of_the_runtime(self) -> Self:
        known = runtime_named(self.runtime).endings
        if PurePosixPath(self.file).suffix not in known:
            formats = " or ".join(known) or "the folder of a SavedModel"
            raise ValueError(f"{self.file} is no network for {self.runtime}, which takes {formats}")
        return self


class HeatMap(_Part):
    """How a heat map is made: from an output of the network, by a small network of its own."""

    features: str
    """The output of the network that holds the last map of features."""
    network: NetworkFile


class Origin(_Part):
    """What was packaged."""

    format: str
    """One of `prumo_serve.source.FORMATS`, or what a task calls its own folders."""
    name: str
    sha256: str


class Manifest(_Part):
    """Everything but the weights."""

    format: Literal[1] = 1
    name: _Name
    version: str = ""
    """Twelve digits of a hash over all that decides on an answer; empty until it is packed."""
    created: str = ""
    """When the model was trained, if it says so: never when it was packaged."""
    task: Annotated[str, AfterValidator(partial(_known, find=task_named))]
    """The name of a plug-in, which says what the scores mean."""
    labels: Annotated[tuple[_Label, ...], Field(min_length=1)]
    """Of the classes in the network's order; of a yes or no both answers, no first."""
    input: Input
    output: Output
    points: tuple[OperatingPoint, ...] = ()
    point: str = ""
    """The one that decides."""
    network: NetworkFile
    heat_map: HeatMap | None = None
    origin: Origin
    versions: dict[str, str] = Field(default_factory=dict)
    """Of Prumo and of what converted the network."""
    card: Literal["", "card.md"] = ""
    """The file of the model card; empty where there is none."""
    files: dict[str, str] = Field(default_factory=dict)
    """Every other file of the package and its SHA-256; none until it is packed."""

    @field_validator("input", mode="before")
    @classmethod
    def _read_preprocessing(cls, value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 (any JSON)
        """The settings as the task's own model, which the manifest's model does not know."""
        how = value.get("preprocessing") if isinstance(value, dict) else None
        if not isinstance(how, dict) or "task" not in info.data:
            return value
        known = task_named(info.data["task"]).preprocessing_settings()
        kind = str(how.get("kind", ""))
        if kind not in known:
            raise ValueError(
                f"preprocessing.kind: {info.data['task']} has no preprocessing {kind!r}, but "
                f"{', '.join(known)}"
            )
        try:
            return {**value, "preprocessing": known[kind].model_validate(how)}
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, ("preprocessing", *first["loc"])))
            raise ValueError(f"{place}: {first['msg']}") from error

    @model_validator(mode="after")
    def _require_sense(self) -> Self:
        names = [point.name for point in self.points]
        if len(set(names)) < len(names):
            raise ValueError("two operating points have the same name")
        if self.point and self.point not in names:
            raise ValueError(f"the point '{self.point}' is none of: {', '.join(names) or 'none'}")
        task = task_named(self.task)
        if self.input.preprocessing.kind not in task.preprocessing_settings():
            raise ValueError(f"{self.task} has no preprocessing {self.input.preprocessing.kind!r}")
        task.check(self)
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("two labels are the same")
        return self


NORMALIZATIONS: MappingProxyType[str, Normalization | None] = MappingProxyType(
    {
        name: None if fields is None else Normalization.model_validate(fields)
        for name, fields in choices.NORMALIZATIONS.items()
    }
)
