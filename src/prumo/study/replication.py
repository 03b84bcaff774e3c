"""How often every scenario is run: a number, or until its mean is known well enough."""

from typing import Annotated, Self

from pydantic import Discriminator, Field, Tag, model_validator

from prumo.study.section import Number, Section, Text, WholeNumber, refused

_MOST = 1_000_000


class Adaptive(Section):
    """Replicate a scenario until the confidence interval of a metric's mean is narrow."""

    metric: Annotated[Text, Field(min_length=1)]
    """The metric whose mean is wanted."""
    half_width_percent: Annotated[Number, Field(gt=0)]
    """Enough when the interval's half width is at most this share of the mean."""
    minimum: Annotated[WholeNumber, Field(ge=2)] = 3
    """Replications that every scenario gets."""
    maximum: Annotated[WholeNumber, Field(ge=2, le=_MOST)]
    """Replications after which a scenario is left as it is."""
    confidence: Annotated[Number, Field(gt=0, lt=1)] = 0.95
    """Confidence level of the interval."""

    @model_validator(mode="after")
    def _minimum_first(self) -> Self:
        if self.maximum < self.minimum:
            raise refused(f"maximum {self.maximum} is less than minimum {self.minimum}")
        return self


def _form(value: object) -> str:
    return "adaptive" if isinstance(value, dict | Adaptive) else "number"


Replications = Annotated[
    Annotated[WholeNumber, Field(ge=1, le=_MOST), Tag("number")]
    | Annotated[Adaptive, Tag("adaptive")],
    Discriminator(_form),
]


def replication_range(replications: int | Adaptive) -> tuple[int, int]:
    """The least and the most replications that a scenario can get."""
    if isinstance(replications, Adaptive):
        return replications.minimum, replications.maximum
    return replications, replications
