"""What `prumo advise` asks a workload about traffic, and what it is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prumo.statistics.interval import DEFAULT_CONFIDENCE

if TYPE_CHECKING:
    from prumo.message import Message

DEFAULT_IDLE_TIMEOUT = 600.0


@dataclass(frozen=True)
class TrafficNeed:
    """What is asked about answers to requests."""

    requests_per_day: float | None = None
    """None where the answer may choose a traffic, which it then says."""
    goals: Mapping[float, float] = field(default_factory=dict)
    """Share of the requests → the longest time that they may take, in seconds."""
    idle_timeout_seconds: float = DEFAULT_IDLE_TIMEOUT
    """After how long a serverless platform stops an idle instance."""
    given: tuple[str, ...] = ()
    """Factors that are no choice."""
    confidence: float = DEFAULT_CONFIDENCE


@dataclass(frozen=True)
class TrafficAnswer:
    """What to choose for one kind of work."""

    work: str
    """Empty where the study asks about one work only."""
    sentences: tuple[Message, ...]
    document: Mapping[str, Any]
    """Everything that was found, ready for JSON."""


@dataclass(frozen=True)
class TrafficAdvice:
    """What to choose at a traffic."""

    answers: tuple[TrafficAnswer, ...]
    document: Mapping[str, Any]
    """What holds for all answers."""
