"""The building blocks of a study file: sections with known keys, names and levels."""

import math
import re
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from prumo.errors import did_you_mean
from prumo.study.problem import shown
from prumo.study.scenario import Level

_LARGEST_INTEGER = 2**63 - 1


class Section(BaseModel):
    """A part of a study file: it never changes, and refuses keys that it does not know."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    @model_validator(mode="wrap")
    @classmethod
    def _name_the_nearest_key(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:  # noqa: ANN401 (not yet checked)
        try:
            return handler(data)
        except ValidationError as error:
            raise ValidationError.from_exception_data(
                cls.__name__, [cls._with_hint(detail) for detail in error.errors()]
            ) from None

    @classmethod
    def _with_hint(cls, detail: ErrorDetails) -> InitErrorDetails:
        kind, message, context = detail["type"], detail["msg"], detail.get("ctx")
        if kind == "extra_forbidden" and len(detail["loc"]) == 1:
            hint = did_you_mean(str(detail["loc"][0]), cls.model_fields)
            kind, message, context = "unknown_key", "unknown key; {hint}", {"hint": hint}
        return InitErrorDetails(
            type=PydanticCustomError(kind, message, context),
            loc=detail["loc"],
            input=detail["input"],
        )


def refused(reason: str) -> PydanticCustomError:
    """An error that a validator raises when a value is of no use."""
    return PydanticCustomError("refused", "{reason}", {"reason": reason})


def written_as(pattern: str, meaning: str) -> AfterValidator:
    """Check text against a pattern, and say in words what it should be."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise refused(f"{shown(text)} should be {meaning}")
        return text

    return AfterValidator(check)


def _checked_level(value: object) -> Level:
    if not isinstance(value, str | int | float | bool):
        raise refused(f"should be text, a number, true or false, not {shown(value)}")
    if isinstance(value, str) and not value.isprintable():
        raise refused("should be text without control characters")
    if isinstance(value, float) and not math.isfinite(value):
        raise refused("should be a finite number")
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        raise refused("is too large a number")
    return value


LevelField = Annotated[
    str | int | float | bool,
    PlainValidator(_checked_level),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Text = Annotated[str, Field(strict=True)]
WholeNumber = Annotated[int, Field(strict=True)]
Number = Annotated[float, Field(strict=True)]
Truth = Annotated[bool, Field(strict=True)]
