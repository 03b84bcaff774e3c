"""What one operation of a framework took in a profile."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class OperationTime(NamedTuple):
    """A row of a profile: all calls of one operation together."""

    operation: str
    """As the framework names it: `aten::mkldnn_convolution`, `Conv2D`, `conv1 backward`."""
    calls: int
    seconds: float
    """Its own time, without that of the operations it calls."""


def grouped(spans: Iterable[tuple[str, float]]) -> list[OperationTime]:
    """Single calls, each the operation's name and its seconds, as one row for each operation."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    for operation, seconds in spans:
        times[operation].append(seconds)
    return [OperationTime(name, len(calls), sum(calls)) for name, calls in times.items()]


def profile_rows(times: list[OperationTime]) -> list[dict[str, Any]]:
    """The rows of a `profile` event, the longest first, each with its share of all seconds."""
    total = sum(time.seconds for time in times)
    ordered = sorted(times, key=lambda time: (-time.seconds, time.operation))
    return [{**time._asdict(), "share": time.seconds / total} for time in ordered if time.seconds]
