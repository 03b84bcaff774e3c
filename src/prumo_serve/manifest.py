"""What a packaged model is and how it must be used: `manifest.json` beside its network."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from prumo_retina.fundus.preparation import Preparation

MANIFEST_FILE = "manifest.json"
SEEN_FILE = "seen.txt"
"""The SHA-256 of every photograph that a retina model was made from, one in each line."""
FORMAT = 1

Task = Literal["referral", "grade", "classification"]
RuntimeName = Literal["onnxruntime", "openvino", "litert", "tensorflow", "pytorch"]
Layout = Literal["NHWC", "NCHW"]
Precision = Literal["fp32", "fp16", "bf16", "int8", "int8-dynamic"]
_ENDINGS: dict[RuntimeName, tuple[str, ...]] = {
    "onnxruntime": (".onnx",),
    "openvino": (".xml", ".onnx"),
    "litert": (".tflite",),
    "tensorflow": ("",),
    "pytorch": (".pt2",),
}
_LABEL_COUNTS: dict[str, int] = {"referral": 2, "grade": 5}

_Number = Annotated[float, Field(allow_inf_nan=False)]
_Divisor = Annotated[float, Field(gt=0, allow_inf_nan=False)]
# Shown on terminals and pages, and part of a server's paths.
_Name = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f/\\]{1,100}$")]
_Label = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f]{1,200}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Normalization(_Part):
    """(pixel - offset) / scale for each channel, before the network is asked."""

    offset: tuple[_Number, _Number, _Number] = (0.0, 0.0, 0.0)
    scale: tuple[_Divisor, _Divisor, _Divisor] = (1.0, 1.0, 1.0)
    channels: Literal["rgb", "bgr"] = "rgb"


class FundusPreprocessing(_Part):
    """A fundus photograph is found, cut out and judged as in training."""

    kind: Literal["fundus"] = "fundus"
    preparation: dict[str, int | str]
    """As `prumo_retina.fundus.preparation.Preparation` reads it."""

    @field_validator("preparation")
    @classmethod
    def _require_known_preparation(cls, value: dict[str, int | str]) -> dict[str, int | str]:
        Preparation.model_validate(value)
        return value


class ImagePreprocessing(_Part):
    """Any image is resized, whatever it shows."""

    kind: Literal["image"] = "image"
    fit: Literal["stretch", "crop", "pad"] = "stretch"
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
    preprocessing: Annotated[FundusPreprocessing | ImagePreprocessing, Field(discriminator="kind")]


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
            raise ValueError("a temperature is for scores; probabilities are told as they are")
        return self


class OperatingPoint(_Part):
    """A threshold on the probability of a referral."""

    name: _Name
    threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    rule: str = ""


class NetworkFile(_Part):
    """A network in the format of a runtime."""

    file: str
    """Relative to the manifest; a folder for a SavedModel."""
    runtime: RuntimeName
    precision: Precision = "fp32"

    @model_validator(mode="after")
    def _require_format_of_the_runtime(self) -> Self:
        known = _ENDINGS[self.runtime]
        if PurePosixPath(self.file).suffix not in known:
            told = " or ".join(known) or "the folder of a SavedModel"
            raise ValueError(f"{self.file} is no network for {self.runtime}, which takes {told}")
        return self


class HeatMap(_Part):
    """How a heat map is made: from an output of the network, by a small network of its own."""

    features: str
    """The output of the network that holds the last map of features."""
    network: NetworkFile


class Origin(_Part):
    """What was packaged."""

    format: Literal["retina", "keras", "saved_model", "pytorch", "onnx"]
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
    task: Task
    labels: Annotated[tuple[_Label, ...], Field(min_length=1)]
    """Of the classes in the network's order; of `referral` the two answers, no and yes."""
    input: Input
    output: Output
    points: tuple[OperatingPoint, ...] = ()
    point: str = ""
    """The one that decides on a referral."""
    network: NetworkFile
    heat_map: HeatMap | None = None
    origin: Origin
    versions: dict[str, str] = Field(default_factory=dict)
    """Of Prumo and of what converted the network."""
    card: Literal["", "card.md"] = ""
    """The file of the model card; empty where there is none."""
    files: dict[str, str] = Field(default_factory=dict)
    """Every other file of the package and its SHA-256; none until it is packed."""

    @model_validator(mode="after")
    def _require_sense(self) -> Self:
        names = [point.name for point in self.points]
        if len(set(names)) < len(names):
            raise ValueError("two operating points have the same name")
        if self.point and self.point not in names:
            raise ValueError(f"the point '{self.point}' is none of: {', '.join(names) or 'none'}")
        wanted = _LABEL_COUNTS.get(self.task, len(self.labels))
        if len(self.labels) != wanted:
            raise ValueError(f"a model of the task {self.task} has {wanted} labels")
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("two labels are the same")
        return self
