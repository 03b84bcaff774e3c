"""The building blocks of a study file: sections with known keys, and problems put into words."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from prumo.errors import StudyError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


KeyPath = tuple[str | int, ...]
"""The place of a value in a file: keys and positions in lists."""

Level = str | int | float | bool
"""A value of a factor or parameter."""

# Pydantic puts the chosen alternative into the place of an error after these keys.
_KEYS_WITH_ALTERNATIVES = ("design", "replications")

_PLAIN_WORDS = {
    "missing": "is required",
    "union_tag_not_found": "needs a `kind`",
    "int_type": "should be a whole number",
    "float_type": "should be a number",
    "finite_number": "should be a finite number",
    "bool_type": "should be true or false",
    "string_type": "should be text",
    "tuple_type": "should be a list",
    "dict_type": "should be a mapping of names to values",
    "model_type": "should be a mapping of names to values",
    "model_attributes_type": "should be a mapping of names to values",
    "too_short": "should not be empty",
    "string_too_short": "should not be empty",
    "byte_size": "should be a size such as 4GiB",
    "byte_size_unit": "should be a size such as 4GiB",
    "greater_than_equal": "should be {ge} or more",
    "greater_than": "should be more than {gt}",
    "less_than_equal": "should be {le} or less",
    "less_than": "should be less than {lt}",
}
_COMPLETE = {
    "missing",
    "union_tag_not_found",
    "too_short",
    "string_too_short",
    "unknown_key",
    "refused",
}


@dataclass(frozen=True)
class Problem:
    """One wrong place of a study."""

    path: KeyPath
    message: str


def dotted(path: KeyPath) -> str:
    """A key's place as people write it.

    >>> dotted(("factors", "batch_size", 1))
    'factors.batch_size[1]'
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def study_error(
    problems: Sequence[Problem], lines: Mapping[KeyPath, int], file: Path | None
) -> StudyError:
    """Make one error of all problems, in the order of the file's lines."""
    ordered = sorted(problems, key=lambda p: (_line(p.path, lines) or 0, dotted(p.path)))
    errors = [
        StudyError(
            problem.message, file=file, line=_line(problem.path, lines), key=dotted(problem.path)
        )
        for problem in ordered
    ]
    first = ordered[0]
    return StudyError(
        first.message,
        file=file,
        line=_line(first.path, lines),
        key=dotted(first.path),
        others=errors[1:],
    )


def problems_of(error: ValidationError) -> list[Problem]:
    """Put the findings of a typed model into words."""
    details = error.errors()
    return [
        Problem(_path(detail), describe(detail))
        for detail in details
        # A list whose items are all wrong is called empty too.
        if detail["type"] != "too_short" or not detail["input"]
    ]


def describe(detail: ErrorDetails) -> str:
    """Say in words what one finding of a typed model means."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind in {"literal_error", "union_tag_invalid"}:
        word = context.get("tag", value)
        choices = re.findall(r"'([^']*)'", context.get("expected") or context["expected_tags"])
        return f"{shown(word)} is not known; {did_you_mean(str(word), choices)}"
    if kind in _PLAIN_WORDS:
        words = _PLAIN_WORDS[kind].format_map(context)
    else:
        words = detail["msg"].removeprefix("Input ")
    return words if kind in _COMPLETE else f"{words}, not {shown(value)}"


def shown(value: Any) -> str:  # noqa: ANN401 (whatever a user wrote)
    """Show a value inside a message: short, and without its inner parts."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value) if isinstance(value, str | float) else f"{value!s:.50}"
    longest = 50
    return text if len(text) <= longest else f"{text[:longest]}…"


def _path(detail: ErrorDetails) -> KeyPath:
    location = tuple(part for part in detail["loc"] if part != "[key]")
    if len(location) > 1 and location[0] in _KEYS_WITH_ALTERNATIVES:
        location = (location[0], *location[2:])
    return (*location, "kind") if detail["type"] == "union_tag_invalid" else location


def _line(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """Take the line of a key, or that of the nearest key around it."""
    for end in range(len(path), -1, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


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


def _no_gpu(value: Any) -> Any:  # noqa: ANN401 (not yet checked)
    # The nearest spelling would be `tpu`.
    if value == "gpu":
        raise refused("'gpu' is not known; did you mean 'cuda'?")
    return value


Device = Annotated[Literal["cpu", "cuda", "tpu"], BeforeValidator(_no_gpu)]
"""What computes; a parameter of trainings, and of machines."""
