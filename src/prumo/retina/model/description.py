"""What a trained model is and how it must be used: `model.json` beside its network."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from prumo.retina.fundus.preparation import Preparation

Task = Literal["referral", "grade"]
MODEL_FILE = "model.json"
NETWORK_FILE = "model.keras"
FORMAT = 1


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Normalization(_Part):
    """What the network's first layers do to pixels from 0 to 255: (pixel - offset) / scale."""

    offset: tuple[float, float, float]
    scale: tuple[float, float, float]
    channels: Literal["rgb", "bgr"] = "rgb"


class OperatingPoint(_Part):
    """A threshold on the probability of a referral, with the reason for it."""

    name: str
    """`high_sensitivity`, `balanced`, `high_specificity`."""
    threshold: Annotated[float, Field(ge=0, le=1)]
    rule: str
    """How it was chosen, such as `sensitivity at least 0.95`."""
    chosen_on: str
    """`validation` or `out-of-fold`, never the data that it is judged on."""
    sensitivity: float
    specificity: float


class ModelDescription(_Part):
    """Everything but the weights."""

    format: Literal[1] = 1
    name: str
    created: str
    task: Task
    network: str
    preparation: Preparation
    normalization: Normalization
    weights: str
    """Where the backbone's weights came from: `scratch`, or a source and its SHA-256."""
    network_sha256: str
    """Of `model.keras`: another file is refused."""
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Scores are divided by it before they become probabilities; fitted on validation data."""
    points: tuple[OperatingPoint, ...] = ()
    point: str = ""
    """The name of the point that decides on a referral when none is asked for."""
    training: dict[str, Any] = Field(default_factory=dict)
    """Parameters, epochs, seconds, device, versions."""
    data: dict[str, Any] = Field(default_factory=dict)
    """Where the photographs came from, how many of each grade in each subset."""

    @model_validator(mode="after")
    def _require_known_point(self) -> Self:
        names = [point.name for point in self.points]
        if len(set(names)) < len(names):
            raise ValueError("two operating points have the same name")
        if self.point and self.point not in names:
            raise ValueError(f"the point '{self.point}' is none of: {', '.join(names) or 'none'}")
        return self
