"""The sections of a study file: known keys, problems in words; measuring, costs and machines."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from prumo.errors import StudyError, did_you_mean

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
    first, *others = (
        StudyError(p.message, file=file, line=_line(p.path, lines), key=dotted(p.path))
        for p in ordered
    )
    first.others = tuple(others)
    return first


def problems_of(error: ValidationError) -> list[Problem]:
    """Put the findings of a typed model into words."""
    return [
        Problem(_path(detail), describe(detail))
        for detail in error.errors()
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
    around = (path[:end] for end in range(len(path), -1, -1))
    return next((lines[place] for place in around if place in lines), None)


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
            found = error.errors()
        details: list[InitErrorDetails] = []
        for detail in found:
            place, value = detail["loc"], detail["input"]
            kind = PydanticCustomError(detail["type"], detail["msg"], detail.get("ctx"))
            if detail["type"] == "extra_forbidden" and len(place) == 1:
                hint = did_you_mean(str(place[0]), cls.model_fields)
                kind = PydanticCustomError("unknown_key", "unknown key; {hint}", {"hint": hint})
            details.append({"type": kind, "loc": place, "input": value})
        raise ValidationError.from_exception_data(cls.__name__, details)


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


_LEAST_MEMORY_BYTES = 2**20
_MOST_MEMORY_BYTES = 2**60


def _checked_size(value: object, handler: ValidatorFunctionWrapHandler) -> int:
    if isinstance(value, bool):
        raise refused("should be a size such as 4GiB")
    size = int(handler(value))
    if not _LEAST_MEMORY_BYTES <= size <= _MOST_MEMORY_BYTES:
        raise refused("should be a size of 1MiB or more, such as 4GiB")
    return size


def _distinct(numbers: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(numbers)) < len(numbers):
        raise refused("names a CPU twice")
    return numbers


class MeasureSettings(Section):
    """Settings of the measurement; they do not change what a run does."""

    sample_seconds: Annotated[Number, Field(ge=0.1, le=3600)] = 10.0
    """The sampler's period."""
    warmup_steps: Annotated[WholeNumber, Field(ge=0)] = 3
    """Steps run and not counted before the first epoch."""
    timeout_seconds: Annotated[Number, Field(gt=0)] | None = None
    """A run that takes longer is stopped."""
    stop_seconds: Annotated[Number, Field(ge=0)] = 10.0
    """How long a worker may take to end after it was asked to."""
    threads: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Compute threads of a run; the cores the process may use when absent."""
    affinity: (
        Annotated[
            tuple[Annotated[WholeNumber, Field(ge=0)], ...],
            Field(min_length=1),
            AfterValidator(_distinct),
        ]
        | None
    ) = None
    """CPU numbers that a run is bound to."""
    memory_bytes: Annotated[ByteSize, WrapValidator(_checked_size)] | None = None
    """Memory cap of a run, in bytes or as `4GiB`."""
    profile: Truth = False
    """After the timed training, take a few steps more under the framework's profiler."""


class CostSettings(Section):
    """How time becomes money; it does not change what a run does."""

    of: Literal["training", "inference"] = "training"
    """What a run is: a training, or answers to requests."""
    metric: Annotated[Text, Field(min_length=1)] | None = None
    """The seconds that are billed; `train_seconds` when absent, or else `wall_seconds`."""
    setup: Truth = False
    """Bill the whole process with its set-up: `wall_seconds`."""
    idle_seconds: Annotated[Number, Field(ge=0)] = 0.0
    """Time that the machine is rented and does nothing, added to every run."""
    rental: Literal["own", "shared"] = "shared"
    """`shared`: a run is a part of a longer rental and pays for its time exactly.
    `own`: a machine is rented for every run, so minimum and rounding count each time."""
    purchase: Literal["on_demand", "spot"] = "on_demand"
    """How the machines are bought."""
    grid_grams_per_kwh: Annotated[Number, Field(ge=0)] | None = None
    """CO2 of the electricity there, in grams per kWh."""
    watts_per_core: Annotated[Number, Field(gt=0)] | None = None
    """Power of one busy core, for an estimate where the machine does not count its energy."""

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if self.setup and self.metric is not None:
            raise refused("give either `metric` or `setup`: set-up is billed by wall_seconds")
        return self


PROVIDER = r"[a-z0-9-]+"
SKU = r"[A-Za-z0-9._+-]+"
REGION = r"[a-z0-9-]+"
_PRICE = f"{PROVIDER}/{SKU}@{REGION}"

Price = Annotated[
    Text,
    written_as(_PRICE, "provider/sku@region, as azure/Standard_F4s_v2@eastus"),
    Field(json_schema_extra={"pattern": f"^{_PRICE}$"}),
]


class Machine(Section):
    """One machine, under the label that a factor `machine` or `environment` uses."""

    device: Device | None = None
    """The device that its runs train on."""
    price: Price | None = None
    """Its price, as `provider/sku@region`."""
