"""In which order the runs happen, so that a drifting machine does not favour a scenario."""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from prumo.study.scenario import Run, Scenario
from prumo.study.section import Section, WholeNumber

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
