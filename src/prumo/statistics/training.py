"""What happens inside of trainings: losses, where the time of a step goes, machine usage."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.results.run_files import SPANS
from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo.statistics.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prumo.results.run_files import Profile


# Ours: a loss that fell by less than a tenth has not begun to converge.
LEARNT_SHARE = 0.9
# Ours: with fewer epochs the steps within them tell more.
FEWEST_EPOCHS = 3
# Single steps are noisy: the loss at a step is the mean over the last twentieth of the run.
SMOOTHED_SHARE = 0.05
FEWEST_STEPS = 20
FEWEST_SCENARIOS = 2
TASK_FACTORS = ("dataset", "only_class")
COST = re.compile(r"cost_([a-z]{3})")


@dataclass(frozen=True)
class Losses:
    """The losses of runs, each a mean over several steps, with the seconds trained until then."""

    table: pl.DataFrame
    """Columns `run`, `place`, `seconds`, `loss`; places count from one."""
    unit: str
    """What a place is: an `epoch` or a `step`."""
    short: frozenset[str] = frozenset()
    """Runs of so few steps that they tell nothing of convergence."""


@dataclass(frozen=True)
class Convergence:
    """The scenarios that learn one task, and when each reaches the loss that all of them reach."""

    task: Mapping[str, Any]
    """The levels that the compared scenarios share, such as the data set."""
    target: float
    summary: pl.DataFrame
    """As of any metric: `epochs_to_loss` or `steps_to_loss`, `seconds_to_loss`, money if priced."""
    never: tuple[str, ...]
    """Scenarios of which no run reached the target."""
    sometimes: tuple[str, ...]
    """Scenarios of which some runs reached it and others did not."""
    short: tuple[str, ...]
    """Scenarios left out, since their runs have too few steps."""
    silent: tuple[str, ...]
    """Scenarios left out, since their runs reported no loss."""


def losses_of(epochs: pl.LazyFrame, steps: pl.LazyFrame) -> Losses:
    """Losses by epoch, or by step where there are too few epochs; warm-up is left out.

    An epoch's loss is the mean over its steps, so it is smooth by itself.
    """
    by_epoch = _so_far(epochs.filter(pl.col("epoch") > 0).sort("epoch"))
    if by_epoch.filter(pl.col("place") >= FEWEST_EPOCHS).height:
        return Losses(by_epoch, "epoch")
    by_step = _so_far(steps.filter(pl.col("epoch") > 0).sort("epoch", "step"))
    short = by_step.filter(pl.len().over("run") < FEWEST_STEPS)["run"]
    return Losses(_smoothed(by_step), "step", frozenset(short))


def convergences(
    runs: pl.DataFrame,
    factors: Sequence[str],
    losses: Losses,
    confidence: float = DEFAULT_CONFIDENCE,
) -> list[Convergence]:
    """For every task that two or more scenarios learn, when they reach what all of them reach.

    The target is the best loss of the run that gets least far. Scenarios that do not learn, their
    loss falling by less than a tenth, do not set it: they are told not to reach it.
    """
    finished = runs.filter(pl.col("verdict") == "finished")
    task = [name for name in TASK_FACTORS if name in factors]
    groups = finished.group_by(task, maintain_order=True) if task else [((), finished)]
    found = [
        _convergence(group, factors, losses, dict(zip(task, levels, strict=True)), confidence)
        for levels, group in groups
    ]
    return [convergence for convergence in found if convergence is not None]


def _lost(runs: pl.DataFrame, rest: pl.DataFrame) -> tuple[str, ...]:
    """The scenarios of which no run is among the rest."""
    lost = runs.join(rest, on="scenario", how="anti", maintain_order="left")
    return tuple(lost["scenario"].unique(maintain_order=True))


def _target(runs: pl.DataFrame, losses: pl.DataFrame) -> float | None:
    """The best loss of the run that gets least far; None with nothing to compare."""
    scenarios = (
        losses.join(runs.select("run", "scenario"), on="run", maintain_order="left")
        .group_by("scenario", "run", maintain_order=True)
        .agg(first=pl.col("loss").first(), best=pl.col("loss").min())
        .filter((pl.col("best") <= LEARNT_SHARE * pl.col("first")).all().over("scenario"))
    )
    if scenarios["scenario"].n_unique() < FEWEST_SCENARIOS:
        return None
    return float(scenarios.select(pl.col("best").max()).item())


def _convergence(
    finished: pl.DataFrame,
    factors: Sequence[str],
    losses: Losses,
    task: Mapping[str, Any],
    confidence: float,
) -> Convergence | None:
    told = finished.filter(pl.col("run").is_in(losses.table["run"].unique().to_list()))
    runs = told.filter(~pl.col("run").is_in(list(losses.short)))
    target = _target(runs, losses.table)
    if target is None:
        return None
    place = f"{losses.unit}s_to_loss"
    reached = (
        losses.table.filter(pl.col("loss") <= target)
        .group_by("run")
        .agg(pl.col("place", "seconds").sort_by("place").first())
        .select("run", pl.col("place").cast(pl.Float64).alias(place), seconds_to_loss="seconds")
    )
    costs = _costs_to_loss(runs)
    table = runs.join(reached, on="run", how="left", maintain_order="left").with_columns(**costs)
    counts = table.group_by("scenario", maintain_order=True).agg(
        reached=pl.col(place).is_not_null().any(), missed=pl.col(place).is_null().any()
    )
    missed = counts.filter("missed")
    return Convergence(
        task=task,
        target=target,
        summary=summarise(table, factors, [place, "seconds_to_loss", *costs], confidence),
        never=tuple(missed.filter(~pl.col("reached"))["scenario"]),
        sometimes=tuple(missed.filter("reached")["scenario"]),
        short=_lost(told, runs),
        silent=_lost(finished, told),
    )


def _costs_to_loss(runs: pl.DataFrame) -> dict[str, pl.Expr]:
    """In every currency, the part of a run's cost that falls on the training until the target."""
    if "train_seconds" not in runs.columns:
        return {}
    share = pl.col("seconds_to_loss") / pl.col("train_seconds")
    return {
        f"cost_to_loss_{cost[1]}": pl.col(name) * share
        for name in runs.columns
        if (cost := COST.fullmatch(name))
    }


def _so_far(events: pl.LazyFrame) -> pl.DataFrame:
    """Losses with their places in each run and the seconds until then; events come in order."""
    return (
        events.select(
            "run",
            place=pl.int_range(1, pl.len() + 1).over("run"),
            # Where one span is unknown, so is every sum that it is part of.
            seconds=pl.when(pl.col("seconds").is_null().cum_sum().over("run") == 0).then(
                pl.col("seconds").cum_sum().over("run")
            ),
            loss="loss",
        )
        .drop_nulls("loss")
        .collect()
    )


def _smoothed(losses: pl.DataFrame) -> pl.DataFrame:
    """Each loss as the mean over a window that ends there; places before a whole window go."""
    window = (SMOOTHED_SHARE * pl.len()).ceil().cast(pl.Int64)
    total = pl.col("loss").cum_sum()
    return (
        losses.with_columns(
            loss=((total - total.shift(window, fill_value=0.0)) / window).over("run"),
            is_whole=(pl.int_range(1, pl.len() + 1) >= window).over("run"),
        )
        .filter("is_whole")
        .drop("is_whole")
    )


class OperationKind(StrEnum):
    """The kinds of work in a network, as far as an operation's name tells."""

    CONVOLUTION = "convolution"
    MATRIX_PRODUCT = "matrix product"
    OTHER = "other"


# Convolutions first: their kernels on a GPU have `gemm` in their names too. Those kernels write
# `dgrad` in small letters, while TensorFlow's BiasAddGrad is no convolution.
_NAMES = {
    OperationKind.CONVOLUTION: re.compile(
        r"conv(?!ert)|winograd|im2col|fprop|(?-i:dgrad|wgrad)", re.IGNORECASE
    ),
    OperationKind.MATRIX_PRODUCT: re.compile(
        r"gemm|matmul|addmm|\bb?mm\b|\bdot\b|dot_general|linear|fully_?connected|inner_?product",
        re.IGNORECASE,
    ),
}


# Caffe tells layers as `ReLU conv1_relu forward`, and a layer may be called anything.
_LAYER = re.compile(r" \S+ (forward|backward)$")


@dataclass(frozen=True)
class OperationTotal:
    """An operation over all profiles of a scenario."""

    operation: str
    kind: OperationKind
    calls_per_step: float
    seconds_per_step: float
    share: float


@dataclass(frozen=True)
class FunctionTotal:
    """A function of the process over all profiles of a scenario."""

    function: str
    seconds_per_step: float
    share: float


@dataclass(frozen=True)
class ScenarioProfile:
    """The operations of a scenario, the longest first, and the share of each kind."""

    scenario: str
    steps: int
    shares: dict[OperationKind, float]
    operations: tuple[OperationTotal, ...]
    functions: tuple[FunctionTotal, ...] = ()
    """What perf saw inside the operations, the longest first; empty where it was missing."""


def operation_kind(operation: str) -> OperationKind:
    """The kind of an operation, by the name that its framework gives it.

    >>> operation_kind("aten::convolution_backward"), operation_kind("aten::addmm")
    (<OperationKind.CONVOLUTION: 'convolution'>, <OperationKind.MATRIX_PRODUCT: 'matrix product'>)
    """
    name = _LAYER.sub("", operation)
    matches = (kind for kind, names in _NAMES.items() if names.search(name))
    return next(matches, OperationKind.OTHER)


def scenario_profile(scenario: str, profiles: Sequence[Profile]) -> ScenarioProfile | None:
    """The profiles of a scenario's runs as one; none where no profiler gave a row."""
    steps = sum(profile.steps for profile in profiles if profile.rows)
    totals: dict[str, tuple[int, float]] = {}
    for row in (row for profile in profiles for row in profile.rows):
        calls, seconds = totals.get(row.operation, (0, 0.0))
        totals[row.operation] = (calls + row.calls, seconds + row.seconds)
    total = sum(seconds for _, seconds in totals.values())
    if not steps or total <= 0:
        return None
    operations = tuple(
        OperationTotal(name, operation_kind(name), calls / steps, seconds / steps, seconds / total)
        for name, (calls, seconds) in sorted(totals.items(), key=lambda item: -item[1][1])
    )
    return ScenarioProfile(scenario, steps, _shares(operations), operations, _functions(profiles))


def _functions(profiles: Sequence[Profile]) -> tuple[FunctionTotal, ...]:
    steps = sum(profile.steps for profile in profiles if profile.functions)
    totals: dict[str, float] = {}
    for row in (row for profile in profiles for row in profile.functions):
        totals[row.function] = totals.get(row.function, 0.0) + row.seconds
    total = sum(totals.values())
    return tuple(
        FunctionTotal(name, seconds / steps, seconds / total)
        for name, seconds in sorted(totals.items(), key=lambda item: -item[1])
    )


def _shares(operations: Iterable[OperationTotal]) -> dict[OperationKind, float]:
    shares = dict.fromkeys(OperationKind, 0.0)
    for operation in operations:
        shares[operation.kind] += operation.share
    return shares


class Resource(StrEnum):
    """A part of a machine that runs use a share of."""

    CPU = "CPU"
    MEMORY = "memory"
    GPU = "GPU"
    GPU_MEMORY = "GPU memory"


RESOURCE_COLUMNS = {
    Resource.CPU: re.compile(r"cpu_percent"),
    Resource.MEMORY: re.compile(r"memory_percent"),
    Resource.GPU: re.compile(r"gpu\d+_percent"),
    Resource.GPU_MEMORY: re.compile(r"gpu\d+_memory_percent"),
}
COLUMNS = {
    "scenario": pl.String,
    "resource": pl.String,
    "seconds": pl.Float64,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "runs": pl.Int64,
}


def resources_of(columns: Iterable[str]) -> dict[Resource, list[str]]:
    """The resources that samples report a share of, with their columns; GPUs go together."""
    names = list(columns)
    found = {
        resource: [name for name in names if pattern.fullmatch(name)]
        for resource, pattern in RESOURCE_COLUMNS.items()
    }
    return {resource: matching for resource, matching in found.items() if matching}


def usage_by_scenario(
    over_time: pl.DataFrame, runs: pl.DataFrame, resources: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """Per scenario, resource and span of time: the mean of its finished runs, the least, the most.

    Runs of a scenario take different times, so spans are parts of each run's own time; `seconds`
    is where they lie on average. There are no more spans than the run with fewest samples has.
    """
    finished = runs.filter(pl.col("verdict") == "finished").select("run", "scenario")
    joined = over_time.join(finished, on="run", how="inner", maintain_order="left")
    if joined.is_empty() or not resources:
        return pl.DataFrame(schema=COLUMNS)
    fewest = pl.col("samples").sum().over("run").min().over("scenario").clip(1, SPANS)
    coarser = joined.select(
        "run",
        "scenario",
        "seconds",
        (pl.col("span") * fewest // SPANS).alias("span"),
        **{name: pl.mean_horizontal(columns) for name, columns in resources.items()},
    )
    per_run = coarser.group_by("scenario", "run", "span", maintain_order=True).agg(pl.all().mean())
    return (
        per_run.unpivot(
            on=list(resources),
            index=["scenario", "span", "seconds"],
            variable_name="resource",
        )
        .drop_nulls("value")
        .group_by("scenario", "resource", "span", maintain_order=True)
        .agg(
            seconds=pl.col("seconds").mean(),
            mean=pl.col("value").mean(),
            low=pl.col("value").min(),
            high=pl.col("value").max(),
            runs=pl.len().cast(pl.Int64),
        )
        .sort("scenario", "resource", "span", maintain_order=True)
        .select(*COLUMNS)
    )
