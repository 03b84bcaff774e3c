"""Which combinations of levels become scenarios: one file per design."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from prumo.study.design.design import Design, DesignError
from prumo.study.design.fractional import Fractional
from prumo.study.design.full import Full
from prumo.study.design.latin_hypercube import LatinHypercube
from prumo.study.design.one_at_a_time import OneAtATime
from prumo.study.design.random_sample import RandomSample
from prumo.study.design.space import MOST_LISTED, Combination, Space
from prumo.study.order import named_kind

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
