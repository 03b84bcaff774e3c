"""A policy at a running endpoint: its pings among the calls of a trace, and what was predicted."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import click
import numpy as np

from prumo.cli.options import duration
from prumo.errors import InputError
from prumo_endpoint.keep_warm.fixed_hours import FixedHours
from prumo_endpoint.keep_warm.forecaster import Forecaster
from prumo_endpoint.keep_warm.hybrid_histogram import HybridHistogram
from prumo_endpoint.keep_warm.never import Never
from prumo_endpoint.keep_warm.ping import Ping
from prumo_endpoint.keep_warm.policy import Policy, next_ping
from prumo_endpoint.keep_warm.simulation import CallsAtOnce
from prumo_endpoint.load.schedule import Schedule

if TYPE_CHECKING:
    from prumo_endpoint.keep_warm.policy import Times
    from prumo_endpoint.keep_warm.times import AnswerTimes
    from prumo_endpoint.traces import Arrivals

_HOURS = re.compile(r"schedule:(\d{1,2})-(\d{1,2})")
_CHANCE = re.compile(r"forecast:(\d{1,2})")
_LAST_HOUR = 24
_BEFORE_START = -1.0


def policy_named(text: str) -> Policy:
    """The policy that a study names: ping:5min, say.

    >>> policy_named("ping:5min").name
    'ping 5 min'
    """
    if text == "never":
        return Never()
    if text == "hybrid-histogram":
        return HybridHistogram()
    if (part := _HOURS.fullmatch(text)) and max(map(int, part.groups())) <= _LAST_HOUR:
        return FixedHours(float(part[1]), float(part[2]))
    if (chance := _CHANCE.fullmatch(text)) and int(chance[1]):
        return Forecaster(int(chance[1]) / 100)
    if text.startswith("ping:"):
        try:
            return Ping(duration(text.removeprefix("ping:")))
        except click.BadParameter as error:
            raise InputError(error.message) from error
    raise InputError(
        f"'{text}' is no way to keep an endpoint warm; right is never, ping:5min, schedule:8-18, "
        "hybrid-histogram or forecast:50"
    )


class KeptWarm(Schedule):
    """Sends the calls of a trace, and between them the pings of a policy that knows only the past.

        schedule = KeptWarm(arrivals, policy_named("ping:5min"), idle_timeout_seconds=600, speed=60)
        generator.send(schedule, record)
        schedule.is_ping  # of each request, in the order in which they were sent

    The trace and the policy have a clock of their own, which runs `speed` times as fast. The last
    request is the trace's last call.
    """

    def __init__(
        self, arrivals: Arrivals, policy: Policy, idle_timeout_seconds: float, speed: float = 1.0
    ) -> None:
        self.is_ping: list[bool] = []
        self._arrivals = arrivals
        self._policy = policy
        self._idle_timeout_seconds = idle_timeout_seconds
        self._speed = speed
        self._calls = 0
        self._ping = self._ping_after(_BEFORE_START)

    def due(self) -> float | None:
        """The next call or ping, whichever is sooner."""
        if self._calls == len(self._arrivals.seconds):
            return None
        return min(self._ping, float(self._arrivals.seconds[self._calls])) / self._speed

    def take(self) -> None:
        """Ask the policy again: it may have learnt from the call."""
        call = float(self._arrivals.seconds[self._calls])
        is_ping = self._ping < call
        self.is_ping.append(is_ping)
        self._calls += not is_ping
        self._ping = self._ping_after(self._ping if is_ping else call)

    def _ping_after(self, seconds: float) -> float:
        known = replace(self._arrivals, seconds=self._arrivals.seconds[: self._calls])
        found = next_ping(self._policy, known, self._idle_timeout_seconds, seconds)
        return inf if found is None else found


def predicted_cold_calls(
    arrivals: Arrivals,
    policy: Policy,
    times: AnswerTimes,
    idle_timeout_seconds: float,
    speed: float = 1.0,
) -> int:
    """How many cold answers the simulation gives for a trace that is sent at a speed.

    Answers take as long as they do while idle times and pings are shortened, so that the times of
    a fast replay are not those of the trace; both are simulated as they are sent.
    """
    sent = replace(
        arrivals,
        seconds=arrivals.seconds / speed,
        length_seconds=arrivals.length_seconds / speed,
    )
    pings = policy.pings(arrivals, idle_timeout_seconds) / speed
    return len(
        CallsAtOnce(sent, times, idle_timeout_seconds / speed).under(_Pings(pings)).cold_calls
    )


class _Pings(Policy):
    """At given times."""

    name = "pings"

    def __init__(self, seconds: Times) -> None:
        self._seconds = seconds

    def pings(self, calls: Arrivals, idle_timeout_seconds: float) -> Times:
        """As given, within the trace."""
        del idle_timeout_seconds
        return self._seconds[: int(np.searchsorted(self._seconds, calls.length_seconds))]
