"""Which combinations of levels become scenarios: one file per design."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from prumo.study.design.combinations import Full, LatinHypercube, OneAtATime, RandomSample
from prumo.study.design.fractional import Fractional
from prumo.study.design.space import MOST_LISTED, Combination, Design, DesignError, Space
from prumo.study.settings import named_kind

_AnyDesign = Annotated[
    Full | Fractional | OneAtATime | LatinHypercube | RandomSample, Field(discriminator="kind")
]

DesignField = Annotated[
    _AnyDesign,
    BeforeValidator(
        named_kind,
        json_schema_input_type=Literal["full", "fractional", "one_at_a_time"] | _AnyDesign,
    ),
]

__all__ = ["MOST_LISTED", "Combination", "Design", "DesignError", "DesignField", "Full", "Space"]
