"""What the server promises, as ratios within one run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.serving.load import pooled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.serving.load import Load
    from benchmarks.serving.trial import Measured, Trial

_TAIL = 0.99
OVERHEAD_SECONDS = 0.0015
_KERAS_REQUESTS = {"mobilenet": 15.0, "vgg19": 4.0}
_KERAS_START = 8.0
_KERAS_MEMORY = 6.0
_FASTAPI_REQUESTS = 1.3
_ALONE_REQUESTS = 0.92
FIRST_ANSWER_SECONDS = 0.8
# With the network in the same form and the same runtime; against Keras, in the form for speed.
_SAME, _FASTEST = "lean-fp32", "lean-int8"
# By the kernel's names. Without one of them int8 takes three instructions where fp32 takes one, and
# at best about half the time of fp32.
INT8_UNITS = ("avx512_vnni", "avx_vnni", "amx_int8", "i8mm")


@dataclass(frozen=True)
class Promise:
    """One figure and its limit."""

    text: str
    value: float
    limit: float
    at_most: bool = False
    needs_int8_units: bool = False
    """Whether it was set for processors that multiply int8 faster than fp32."""

    @property
    def is_kept(self) -> bool:
        """Whether the figure is on the right side of its limit."""
        return self.value <= self.limit if self.at_most else self.value >= self.limit

    def fails(self, *, has_int8_units: bool) -> bool:
        """Whether it is missed on a processor that it was set for."""
        return not self.is_kept and (has_int8_units or not self.needs_int8_units)


def has_int8_units(vector_extensions: Sequence[str]) -> bool:
    """Whether a processor multiplies and adds int8 in one instruction."""
    return not set(INT8_UNITS).isdisjoint(vector_extensions)


def promises(trial: Trial) -> Iterator[Promise]:
    """Those that can be judged with the servers that were measured."""
    servers = trial.servers
    for key in [key for key in (_SAME, _FASTEST) if key in servers]:
        yield from _of_its_own(trial, key)
    if {"keras", _FASTEST} <= servers.keys():
        yield from _against_keras(trial, servers[_FASTEST], servers["keras"])
    # With VGG19 nearly all time is the runtime's, which is the same for all of these.
    if trial.network != "mobilenet" or _SAME not in servers:
        return
    ours = servers[_SAME]
    yield Promise(
        f"{ours.name}: seconds over decode and runtime at 1 connection",
        overhead_seconds(ours.few, trial.direct_seconds),
        OVERHEAD_SECONDS,
        at_most=True,
    )
    if "fastapi" in servers:
        yield from _against_fastapi(ours, servers["fastapi"])
    for key in ("litserve", "bentoml"):
        if key in servers:
            yield _requests(ours, servers[key], 1.0)


def _of_its_own(trial: Trial, key: str) -> Iterator[Promise]:
    """Against the runtime alone and the other stack, which hold for every network."""
    ours, precision = trial.servers[key], key.rpartition("-")[2]
    yield Promise(f"{ours.name}: requests without an answer", ours.errors, 0, at_most=True)
    shares = [
        load.requests_per_second / rate
        for load, rate in zip(ours.many, trial.alone[precision], strict=True)
    ]
    yield Promise(
        f"{ours.name}: requests/s over those of the runtime alone", median(shares), _ALONE_REQUESTS
    )
    if (other := trial.servers.get(f"nginx-{precision}")) is not None:
        yield _requests(ours, other, 1.0)
    if trial.network == "mobilenet":
        yield Promise(
            f"{ours.name}: seconds to the first answer",
            ours.first_answer_seconds,
            FIRST_ANSWER_SECONDS,
            at_most=True,
        )


def overhead_seconds(few: Sequence[Load], direct_seconds: Sequence[float]) -> float:
    """The median over the rounds of what a request takes longer than its work does."""
    pairs = zip(few, direct_seconds, strict=True)
    return median(load.percentile_seconds(0.5) - direct for load, direct in pairs)


def _against_keras(trial: Trial, ours: Measured, keras: Measured) -> Iterator[Promise]:
    requests = _requests(ours, keras, _KERAS_REQUESTS[trial.network])
    yield replace(requests, needs_int8_units=True)
    if trial.network == "mobilenet":
        start = keras.first_answer_seconds / ours.first_answer_seconds
        yield Promise(f"{ours.name}: times sooner than {keras.name}", start, _KERAS_START)
        memory = keras.memory_bytes / ours.memory_bytes
        yield Promise(f"{ours.name}: times less memory than {keras.name}", memory, _KERAS_MEMORY)


def _against_fastapi(ours: Measured, fastapi: Measured) -> Iterator[Promise]:
    yield _requests(ours, fastapi, _FASTAPI_REQUESTS)
    halves = [
        our.percentile_seconds(0.5) / their.percentile_seconds(0.5)
        for our, their in zip(ours.few, fastapi.few, strict=True)
    ]
    yield Promise(
        f"{ours.name}: p50 at 1 connection over that of {fastapi.name}",
        median(halves),
        1.0,
        at_most=True,
    )
    tails = [pooled(each.many).percentile_seconds(_TAIL) for each in (ours, fastapi)]
    yield Promise(
        f"{ours.name}: p99 at 8 connections over that of {fastapi.name}",
        tails[0] / tails[1],
        1.0,
        at_most=True,
    )


def _requests(ours: Measured, other: Measured, limit: float) -> Promise:
    pairs = zip(ours.many, other.many, strict=True)
    ratio = median(
        our.requests_per_second / their.requests_per_second
        if their.requests_per_second
        else math.inf
        for our, their in pairs
    )
    return Promise(f"{ours.name}: times the requests/s of {other.name}", ratio, limit)
