"""Claims about a study's results, as somebody stated them: the claims file."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from math import inf, isfinite
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema, model_validator

from prumo.study.document import SectionFile, read_section
from prumo.study.scenario import level_text
from prumo.study.section import Section, Text, refused

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_FORMS = {
    "figure": re.compile(rf"({_NUMBER})"),
    "range": re.compile(rf"({_NUMBER}) to ({_NUMBER})"),
    "at least": re.compile(rf"at least ({_NUMBER})"),
    "at most": re.compile(rf"at most ({_NUMBER})"),
}
_TOLERANCE = re.compile(rf"({_NUMBER}) ?(%?)")


@dataclass(frozen=True)
class Stated:
    """A figure as it was printed: a number, a range, or one end of a range."""

    text: str
    low: float
    high: float
    rounding: float
    """By how much a figure may differ and still be printed so; zero for a range."""

    @property
    def is_range(self) -> bool:
        """Whether it leaves more than its rounding open."""
        return self.low != self.high

    @property
    def numbers(self) -> list[str]:
        """The numbers in it, as printed."""
        return re.findall(_NUMBER, self.text)

    @property
    def digits(self) -> int:
        """How many digits that count its longest number has."""
        return max(len(Decimal(number).as_tuple().digits) for number in self.numbers)

    def difference(self, value: float) -> float:
        """How far a value is from what was stated; zero inside a range."""
        return value - min(max(value, self.low), self.high)


@dataclass(frozen=True)
class Tolerance:
    """How much a figure may differ, if its printed digits do not say it."""

    amount: float
    is_percent: bool

    def of(self, stated: Stated) -> float:
        """The tolerance in the unit of the figure."""
        if not self.is_percent:
            return self.amount
        finite = [abs(end) for end in (stated.low, stated.high) if abs(end) != inf]
        return self.amount / 100 * max(finite)


def load_claims(file: Path) -> SectionFile["Claims"]:
    """Read and check claims; StudyError names the file, the lines and the keys."""
    return read_section(file, Claims, "claims", numbers_as_written=True)


def _read_stated(value: object) -> Stated:
    text = value.strip() if isinstance(value, str) else ""
    for form, pattern in _FORMS.items():
        if match := pattern.fullmatch(text):
            return _stated(form, text, match.groups())
    raise refused(
        "should be a number as it was printed such as 2.35, or `4 to 6`, `at least 10`, `at most 3`"
    )


def _stated(form: str, text: str, numbers: tuple[str, ...]) -> Stated:
    first, last = float(numbers[0]), float(numbers[-1])
    if not (isfinite(first) and isfinite(last)):
        raise refused("is beyond all figures")
    if first > last:
        raise refused(f"{numbers[0]} is more than {numbers[-1]}")
    if form == "figure":
        exponent = Decimal(text).as_tuple().exponent
        return Stated(text, first, first, rounding=float(Decimal(5).scaleb(int(exponent) - 1)))
    low = -inf if form == "at most" else first
    high = inf if form == "at least" else last
    return Stated(text, low, high, rounding=0.0)


def _read_tolerance(value: object) -> Tolerance:
    match = _TOLERANCE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or not 0 <= float(match[1]) < inf:
        raise refused("should be a number in the unit of the figure, or a percentage such as 5 %")
    return Tolerance(float(match[1]), is_percent=bool(match[2]))


StatedField = Annotated[
    Stated, PlainValidator(_read_stated), WithJsonSchema({"type": ["number", "string"]})
]
ToleranceField = Annotated[
    Tolerance, PlainValidator(_read_tolerance), WithJsonSchema({"type": ["number", "string"]})
]
LevelName = Annotated[
    Text, BeforeValidator(lambda level: level_text(level) if isinstance(level, bool) else level)
]

STATISTICS = (
    "mean",
    "standard_deviation",
    "population_standard_deviation",
    "median",
    "minimum",
    "maximum",
)
SPREAD_RATIO = "spread_times_more"
COMPARISONS: dict[str, Callable[[float], float]] = {
    "times_less": lambda ratio: 1 / ratio,
    "times_more": lambda ratio: ratio,
    "percent_less": lambda ratio: 100 * (1 - ratio),
    "percent_more": lambda ratio: 100 * (ratio - 1),
    SPREAD_RATIO: lambda ratio: ratio,
    "ordering": lambda ratio: ratio,
}
"""A comparison's figure by how many times as large the one is as the other."""


class Claim(Section):
    """One sentence about the results, and what it states in figures."""

    says: Annotated[Text, Field(min_length=1)]
    """The sentence, for readers."""
    metric: Annotated[Text, Field(min_length=1)]
    """What it is about, as a report names it: `full_latency_seconds`, `cost_usd`."""
    of: dict[Text, LevelName] = Field(default_factory=dict)
    """Factor → level of the scenarios that it is about."""
    than: dict[Text, LevelName] = Field(default_factory=dict)
    """Factor → level in which the scenarios that it compares with differ."""
    mean: StatedField | None = None
    """The mean; of several scenarios, the mean of their means."""
    standard_deviation: StatedField | None = None
    """The sample standard deviation of one scenario's runs."""
    population_standard_deviation: StatedField | None = None
    """The standard deviation by n, not by n minus one."""
    median: StatedField | None = None
    """The median of one scenario's runs."""
    minimum: StatedField | None = None
    """The least of one scenario's runs."""
    maximum: StatedField | None = None
    """The most of one scenario's runs."""
    times_less: StatedField | None = None
    """The other mean divided by this one: 2 where this is half of the other."""
    times_more: StatedField | None = None
    """This mean divided by the other one."""
    percent_less: StatedField | None = None
    """How much less this mean is, in percent of the other one."""
    percent_more: StatedField | None = None
    """How much more this mean is, in percent of the other one."""
    spread_times_more: StatedField | None = None
    """One scenario's standard deviation divided by that of the other."""
    ordering: Literal["less", "more"] | None = None
    """Whether this mean is less or more than the other one."""
    tolerance: ToleranceField | None = None
    """How much a figure may differ; by the rounding of its printed digits when absent."""

    @model_validator(mode="after")
    def _one_statement(self) -> Self:
        made = [name for name in (*STATISTICS, *COMPARISONS) if getattr(self, name) is not None]
        if len(made) != 1:
            known = ", ".join((*STATISTICS, *COMPARISONS))
            raise refused(f"needs one statement, not {len(made)}; known: {known}")
        if made[0] in COMPARISONS and not self.than:
            raise refused(f"{made[0]} needs `than`: in which levels the other scenarios differ")
        if made[0] in STATISTICS and self.than:
            raise refused(f"{made[0]} compares nothing, so `than` says nothing")
        if not self.than.keys() <= self.of.keys():
            raise refused("`than` names a factor of which `of` has no level")
        if self.ordering is not None and self.tolerance is not None:
            raise refused("ordering states no figure, so `tolerance` says nothing")
        return self

    @property
    def kind(self) -> str:
        """Which of its statements the claim makes."""
        return next(name for name in (*STATISTICS, *COMPARISONS) if getattr(self, name) is not None)

    @property
    def stated(self) -> Stated | None:
        """The figure that it states; None where it only orders."""
        return None if self.ordering is not None else getattr(self, self.kind)

    @property
    def allowance(self) -> float:
        """By how much the data may differ for the claim to be true."""
        if self.stated is None:
            return 0.0
        return self.stated.rounding if self.tolerance is None else self.tolerance.of(self.stated)


class Claims(Section):
    """What is stated about one study."""

    claims: Annotated[tuple[Claim, ...], Field(min_length=1)]
    """The claims, in the order of their text."""
