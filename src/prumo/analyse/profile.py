"""Where the time of a training goes: operations by kind, over the profiles of a scenario. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prumo.results.profile import Profile


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
