"""Scenarios are combinations of levels, runs are their replications: how many, in which order."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from prumo.study.section import Number, Section, Text, WholeNumber, refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prumo.study.section import Level

RUN_PLACEHOLDERS = ("run", "scenario", "replication")
"""What a command can have in its words about its run, beside the scenario's parameters."""


def level_text(level: Level) -> str:
    """A level as it stands in tables and in the words of a command."""
    return str(level).lower() if isinstance(level, bool) else str(level)


@dataclass(frozen=True)
class Scenario:
    """One combination of factor levels, numbered in the order of the study's factors."""

    number: int
    factors: Mapping[str, Level]
    parameters: Mapping[str, Level]
    """The fixed parameters of the study together with this scenario's levels."""

    @property
    def name(self) -> str:
        """The scenario's name in tables: C1, C2 and so on."""
        return f"C{self.number}"


@dataclass(frozen=True)
class Run:
    """One replication of a scenario: a process of its own, a folder of its own."""

    scenario: Scenario
    replication: int

    @property
    def name(self) -> str:
        """The run's folder name; two digits at least, so that short studies sort well."""
        return f"C{self.scenario.number:02d}-r{self.replication}"


def scenario_name(run_name: str) -> str:
    """The scenario that a run belongs to.

    >>> scenario_name("C03-r1")
    'C3'
    """
    return f"C{int(run_name.removeprefix('C').partition('-')[0])}"


_MOST_REPLICATIONS = 1_000_000


class Adaptive(Section):
    """Replicate a scenario until the confidence interval of a metric's mean is narrow."""

    metric: Annotated[Text, Field(min_length=1)]
    """The metric whose mean is wanted."""
    half_width_percent: Annotated[Number, Field(gt=0)]
    """Enough when the interval's half width is at most this share of the mean."""
    minimum: Annotated[WholeNumber, Field(ge=2)] = 3
    """Replications that every scenario gets."""
    maximum: Annotated[WholeNumber, Field(ge=2, le=_MOST_REPLICATIONS)]
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
    Annotated[WholeNumber, Field(ge=1, le=_MOST_REPLICATIONS), Tag("number")]
    | Annotated[Adaptive, Tag("adaptive")],
    Discriminator(_form),
]


def replication_range(replications: int | Adaptive) -> tuple[int, int]:
    """The least and the most replications that a scenario can get."""
    if isinstance(replications, Adaptive):
        return replications.minimum, replications.maximum
    return replications, replications


OrderKind = Literal["listed", "randomized", "interleaved"]


class Order(Section):
    """The order of runs; the seed makes it repeatable."""

    kind: OrderKind = "interleaved"
    """`listed`: scenario by scenario; `randomized`: all runs shuffled; `interleaved`: the first
    replication of every scenario, shuffled, then the second."""
    seed: Annotated[WholeNumber, Field(ge=0, lt=2**63)] = 1
    """Seed of the shuffles."""


def named_kind(value: Any) -> Any:  # noqa: ANN401 (not yet checked)
    """Read `order: listed` as `order: {kind: listed}`."""
    return {"kind": value} if isinstance(value, str) else value


OrderField = Annotated[Order, BeforeValidator(named_kind, json_schema_input_type=OrderKind | Order)]


def ordered_runs(scenarios: Sequence[Scenario], replications: int, order: Order) -> Iterator[Run]:
    """All runs in their order; the same seed gives the same order."""
    rounds = range(1, replications + 1)
    if order.kind == "listed":
        return (Run(scenario, round_) for scenario in scenarios for round_ in rounds)
    if order.kind == "randomized":
        runs = [Run(scenario, round_) for scenario in scenarios for round_ in rounds]
        Random(order.seed).shuffle(runs)  # noqa: S311 (an order, not a secret)
        return iter(runs)
    return (run for round_ in rounds for run in round_runs(scenarios, round_, order))


def round_runs(scenarios: Iterable[Scenario], replication: int, order: Order) -> list[Run]:
    """One more replication of some scenarios, as an adaptive study asks for."""
    runs = [Run(scenario, replication) for scenario in scenarios]
    if order.kind != "listed":
        Random(f"{order.seed}:{replication}").shuffle(runs)  # noqa: S311 (an order, not a secret)
    return runs
