"""Where the time of a training goes: operations by kind, over the profiles of a scenario. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import polars as pl

from prumo.results.samples import SPANS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prumo.results.events import Profile


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
    operations: tuple[OperationTotal, ...]
    shares: dict[OperationKind, float]
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
    return ScenarioProfile(scenario, steps, operations, _shares(operations), _functions(profiles))


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
