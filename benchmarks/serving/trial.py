"""One network on all servers: started in turn, then asked in rounds, each a while in each round.

A rented machine changes its speed from minute to minute, so servers are compared within a round.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.serving.contestants import WORKERS
from benchmarks.serving.direct import DirectCalls
from benchmarks.serving.load import pooled, put_load
from benchmarks.serving.photographs import drawn_photographs
from benchmarks.serving.running_server import RunningServer, free_port
from prumo_serve.runtimes import Resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from benchmarks.serving.contestants import Contestant
    from benchmarks.serving.load import Load
    from benchmarks.serving.networks import ServedNetwork

FEW, MANY = 1, 8
"""Connections at the same time."""
_PHOTOGRAPHS = 16
_COMPARED_PHOTOGRAPHS = 4
# In a probability. Study 3's networks with drawn weights give 0.002 more or less from photograph
# to photograph, so that an answer to another one would be noticed at full precision.
_TOLERANCE = 1e-4
_INT8_TOLERANCE = 0.02


@dataclass(frozen=True)
class Effort:
    """How long and how often."""

    starts: int
    rounds: int
    few_seconds: float
    """At one connection, in each round."""
    many_seconds: float


@dataclass(frozen=True)
class Measured:
    """What one server did."""

    name: str
    first_answers_seconds: tuple[float, ...]
    """Of each start."""
    memory_bytes: int
    few: tuple[Load, ...]
    """At one connection, one for each round."""
    many: tuple[Load, ...]
    """At eight."""

    @property
    def first_answer_seconds(self) -> float:
        """From the start to the first answer, the median of the starts."""
        return median(self.first_answers_seconds)

    @property
    def errors(self) -> int:
        """Requests that got no right answer."""
        return pooled(self.few).errors + pooled(self.many).errors


@dataclass(frozen=True)
class Trial:
    """One network on all servers."""

    network: str
    servers: Mapping[str, Measured]
    """By the contestant's key."""
    direct_seconds: tuple[float, ...]
    """Decoding and predicting at fp32 on all cores without a server, one for each round."""
    alone: Mapping[str, tuple[float, ...]]
    """Precision → predictions a second of the runtime alone on all cores, for each round."""


def tried(
    network: ServedNetwork,
    makers: Mapping[str, Callable[[ServedNetwork, int], Contestant]],
    effort: Effort,
) -> Trial:
    """Start every server, check that all say the same, and put load on each in turn."""
    photographs = drawn_photographs(_PHOTOGRAPHS)
    with ExitStack() as stack:
        lone = Resources(threads=WORKERS, may_spin=True)
        direct = stack.enter_context(DirectCalls(network.fp32, photographs, lone))
        crowd = Resources(callers=WORKERS)
        alone = {
            precision: stack.enter_context(DirectCalls(package, photographs, crowd))
            for precision, package in {"fp32": network.fp32, "int8": network.int8}.items()
        }
        servers, starts = {}, {}
        for key, maker in makers.items():
            port = free_port()
            server = RunningServer(maker(network, port), port, photographs)
            starts[key] = _started(server, effort.starts - 1, stack)
            servers[key] = server
        _require_agreement(servers.values())
        few: dict[str, list[Load]] = {key: [] for key in servers}
        many: dict[str, list[Load]] = {key: [] for key in servers}
        direct_seconds = []
        rates: dict[str, list[float]] = {precision: [] for precision in alone}
        for number in range(effort.rounds):
            direct_seconds.append(direct.median_seconds(effort.few_seconds))
            for precision, calls in alone.items():
                rates[precision].append(calls.predictions_per_second(effort.many_seconds))
            for key in _turned(list(servers), number):
                few[key].append(_load(servers[key], FEW, effort.few_seconds))
                many[key].append(_load(servers[key], MANY, effort.many_seconds))
        measured = {
            key: Measured(
                server.contestant.name,
                starts[key],
                server.memory_bytes(),
                tuple(few[key]),
                tuple(many[key]),
            )
            for key, server in servers.items()
        }
    found = {precision: tuple(values) for precision, values in rates.items()}
    return Trial(network.name, measured, tuple(direct_seconds), found)


def _started(server: RunningServer, times_before: int, stack: ExitStack) -> tuple[float, ...]:
    """Start a server several times; the last time it stays."""
    seconds = []
    for _ in range(times_before):
        with server:
            seconds.append(server.first_answer_seconds)
    stack.enter_context(server)
    return (*seconds, server.first_answer_seconds)


def _turned(keys: list[str], places: int) -> list[str]:
    """Another one first in every round, so that none always comes after the same."""
    start = places % len(keys)
    return keys[start:] + keys[:start]


def _load(server: RunningServer, connections: int, seconds: float) -> Load:
    return put_load(server.port, server.requests, connections, seconds)


def _require_agreement(servers: Iterable[RunningServer]) -> None:
    """A server that answers something else would not be comparable."""
    first, *others = servers
    expected = _probabilities(first)
    if float(np.ptp(expected, axis=0).max()) <= _TOLERANCE:
        raise ValueError(f"{first.contestant.name} gives the same answer to every photograph")
    for server in others:
        difference = float(np.abs(_probabilities(server) - expected).max())
        is_int8 = first.contestant.is_int8 or server.contestant.is_int8
        if difference > (_INT8_TOLERANCE if is_int8 else _TOLERANCE):
            raise ValueError(
                f"{server.contestant.name} and {first.contestant.name} differ by "
                f"{difference:.3f} in a probability of the same photographs"
            )


def _probabilities(server: RunningServer) -> np.ndarray:
    return np.array(
        [
            _values(json.loads(server.answer(index))["probabilities"])
            for index in range(_COMPARED_PHOTOGRAPHS)
        ]
    )


def _values(probabilities: Sequence[float] | Mapping[str, float]) -> list[float]:
    """Prumo names the classes, in the network's order; the others give numbers only."""
    return list(probabilities.values() if isinstance(probabilities, dict) else probabilities)
