"""All policies on the same traces: cold answers avoided against money, with intervals.

Intervals are by the bootstrap over days of the traces, or over equal blocks of a shorter trace;
every policy sees the same resamples, so that policies are compared on the same days. Measured
times are taken as they are: how sure they are is not part of the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.errors import InputError
from prumo.money.billing import HOURS_PER_MONTH
from prumo.money.pareto import Standing, dominated
from prumo.progress import SILENT
from prumo.quantity import Quantity
from prumo.statistics.interval import (
    BOOTSTRAP_MINIMUM_VALUES,
    DEFAULT_CONFIDENCE,
    RESAMPLES,
    bootstrap_tail,
)
from prumo_endpoint.keep_warm.never import Never
from prumo_endpoint.keep_warm.provisioned import Provisioned
from prumo_endpoint.keep_warm.simulation import CallsAtOnce
from prumo_endpoint.keep_warm.times import QUANTILES
from prumo_endpoint.load.request_table import requests_needed
from prumo_endpoint.traces import DAY_SECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prumo.progress import Progress
    from prumo_endpoint.keep_warm.policy import Policy
    from prumo_endpoint.keep_warm.simulation import PolicyOutcome
    from prumo_endpoint.keep_warm.times import AnswerTimes
    from prumo_endpoint.traces import Arrivals

    Numbers = NDArray[np.float64]

SECONDS_PER_MONTH = 3600 * HOURS_PER_MONTH
LEAST_IDLE_TIMEOUT_SECONDS = 1.0
MOST_BLOCKS_OF_SHORT_TRACE = 24
# Shorter blocks would depend on each other: an instance outlives its last call by a time-out.
LEAST_BLOCK_TIMEOUTS = 5
# In a shorter trace the first cold answer or the first ping would stand for a whole month.
LEAST_TRACE_SPANS = 10


@dataclass(frozen=True)
class Prices:
    """What a serverless endpoint of one memory size costs; data in and out is not counted."""

    per_second: float
    """Of work on demand, billed by the millisecond."""
    reserved_per_second: float | None = None
    """For one provisioned instance, at work or not; None where it is not known."""
    reserved_work_per_second: float | None = None
    """Of work on a provisioned instance; as on demand where it is not known."""
    currency: str = "USD"
    bills_start: bool = True
    """Whether a cold answer is billed whole, or only as long as a warm one."""

    @property
    def work_on_reserved_per_second(self) -> float:
        """Of work on a provisioned instance, as far as is known."""
        price = self.reserved_work_per_second
        return self.per_second if price is None else price


@dataclass(frozen=True)
class Interval:
    """A figure with the interval that it is known to; both ends None where there is no telling."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Entry:
    """How one policy did, on all traces together."""

    policy: str
    calls: int
    cold_calls: int
    monthly_cold_calls: float
    """In a month like the traces."""
    cold_share: Interval
    avoided_share: Interval
    """Of the cold answers that there are when nothing is kept warm."""
    monthly_cost: Interval
    pings: int
    pings_per_day: float
    """To one endpoint."""
    cold_pings: int
    mean_seconds: float
    median_seconds: float
    p99_seconds: float | None
    """None with too few calls to tell."""
    warm_instance_seconds: float
    most_instances: int
    on_front: bool
    """By the figures alone, no other policy has both fewer cold answers and a lower cost."""
    chance_dominated: float | None
    standing: Standing


@dataclass(frozen=True)
class Tournament:
    """All policies, that which keeps nothing warm first."""

    entries: tuple[Entry, ...]
    cold_calls_beside_one: int
    """Cold answers that remain with one instance always warm: calls at the same time."""
    traces: int
    days: float
    """Of all traces together."""
    shortest_trace_seconds: float
    blocks: int
    """How many the bootstrap draws from; 0 where the traces are too short for intervals."""
    block_seconds: float
    confidence: float


@dataclass(frozen=True)
class Endpoint:
    """What the policies keep warm."""

    times: AnswerTimes
    prices: Prices
    idle_timeout_seconds: float

    def __post_init__(self) -> None:
        if not self.idle_timeout_seconds >= LEAST_IDLE_TIMEOUT_SECONDS:
            raise InputError(
                f"an idle time-out of {self.idle_timeout_seconds:g} s is too short to be kept "
                f"warm through; give at least {LEAST_IDLE_TIMEOUT_SECONDS:g} s"
            )
        if self.idle_timeout_seconds > DAY_SECONDS:
            raise InputError(
                f"an idle time-out of {self.idle_timeout_seconds:g} s cannot be simulated; give at "
                "most a day"
            )


def compared(  # noqa: PLR0913 (what is compared, on what, and how)
    policies: Sequence[Policy],
    traces: Sequence[Arrivals],
    endpoint: Endpoint,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 1,
    progress: Progress = SILENT,
) -> Tournament:
    """Every policy on every trace; each trace is an endpoint of its own."""
    policies = [Never(), *(policy for policy in policies if not isinstance(policy, Never))]
    if endpoint.prices.reserved_per_second is None:
        for policy in policies:
            if policy.reserved_instances:
                raise InputError(f"'{policy.name}' needs a price per second of an instance")
    shortest = min(arrivals.length_seconds for arrivals in traces)
    distances = [DAY_SECONDS / one.pings_per_day for one in policies if one.pings_per_day]
    longest = max(endpoint.idle_timeout_seconds, *distances, 0.0)
    if shortest < (needed := LEAST_TRACE_SPANS * longest):
        raise InputError(
            f"a trace of {Quantity(shortest, 's', 3)} says nothing about a month; give at least "
            f"{Quantity(needed, 's', 3)}, {LEAST_TRACE_SPANS} times the longer "
            "of the idle time-out and the distance of pings"
        )
    ledgers: list[list[_Ledger]] = [[] for _ in policies]
    beside_one = 0
    for arrivals in traces:
        progress.show("simulating", "the calls")
        calls = CallsAtOnce(arrivals, endpoint.times, endpoint.idle_timeout_seconds, seed)
        beside_one += len(calls.under(Provisioned(1)).cold_calls)
        for policy, kept in zip(policies, ledgers, strict=True):
            progress.show("simulating", policy.name)
            kept.append(_ledger(calls, calls.under(policy), endpoint.prices))
    draws = _draws(ledgers[0], confidence, seed)
    length = sum(arrivals.length_seconds for arrivals in traces)
    return Tournament(
        entries=_entries(ledgers, endpoint.times, draws, confidence),
        cold_calls_beside_one=beside_one,
        traces=len(traces),
        days=length / DAY_SECONDS,
        shortest_trace_seconds=shortest,
        blocks=draws.weights.shape[1] if draws.are_resampled else 0,
        block_seconds=length / sum(len(ledger.calls) for ledger in ledgers[0]),
        confidence=confidence,
    )


@dataclass(frozen=True)
class _Ledger:
    """What a policy did on one trace; calls, cold answers and money by blocks of it."""

    outcome: PolicyOutcome
    length_seconds: float
    calls: Numbers
    cold: Numbers
    monthly_cost: Numbers
    quantiles: Numbers
    cold_quantiles: Numbers
    """How many answers, and how many cold ones, had each quantile of the times."""


def _ledger(calls: CallsAtOnce, outcome: PolicyOutcome, prices: Prices) -> _Ledger:
    seconds, length = calls.arrivals.seconds, calls.arrivals.length_seconds
    count = _block_count(length, calls.idle_timeout_seconds)

    def by_block(at: Numbers, amounts: Numbers | None = None) -> Numbers:
        block = np.minimum((at * (count / length)).astype(np.int64), count - 1)
        return np.bincount(block, amounts, count).astype(np.float64)

    cold_begins, cold_quantiles = seconds[outcome.cold_calls], calls.quantiles[outcome.cold_calls]
    warm = whole_milliseconds(calls.times.warm)
    cold = whole_milliseconds(calls.times.cold) if prices.bills_start else warm
    work, reserved_work = _warm_work(calls, outcome, warm, count)
    # No answer of a reserved instance is cold.
    work += by_block(cold_begins, (cold - warm)[cold_quantiles])
    pings = np.where(outcome.cold_pings, cold[outcome.ping_quantiles], warm[outcome.ping_quantiles])
    work += by_block(outcome.pings, pings)
    cost = work * prices.per_second
    if prices.reserved_per_second is not None:
        instances = outcome.policy.reserved_instances
        cost += instances * length / count * prices.reserved_per_second
        cost += reserved_work * prices.work_on_reserved_per_second
    return _Ledger(
        outcome,
        length_seconds=length,
        calls=np.diff(_block_edges(calls, count)).astype(np.float64),
        cold=by_block(cold_begins),
        monthly_cost=cost * (SECONDS_PER_MONTH / length),
        quantiles=np.bincount(calls.quantiles, minlength=QUANTILES).astype(np.float64),
        cold_quantiles=np.bincount(cold_quantiles, minlength=QUANTILES).astype(np.float64),
    )


def _warm_work(
    calls: CallsAtOnce, outcome: PolicyOutcome, billed: Numbers, count: int
) -> tuple[Numbers, Numbers]:
    """The billed seconds of each block if all answers were warm: on demand, and on reserved."""
    edges = _block_edges(calls, count)
    work, reserved = np.zeros(count), np.zeros(count)
    for block, (begin, end) in enumerate(pairwise(edges.tolist())):
        seconds = billed[calls.quantiles[begin:end]]
        work[block] = seconds.sum()
        if outcome.is_reserved is not None:
            reserved[block] = seconds[outcome.is_reserved[begin:end]].sum()
    return work - reserved, reserved


def _block_edges(calls: CallsAtOnce, count: int) -> NDArray[np.int64]:
    """Which call is the first of each block, and how many there are."""
    bounds = np.arange(1, count) * (calls.arrivals.length_seconds / count)
    inner = np.searchsorted(calls.arrivals.seconds, bounds)
    return np.array([0, *inner, len(calls.arrivals.seconds)], dtype=np.int64)


def _block_count(length_seconds: float, idle_timeout_seconds: float) -> int:
    days = round(length_seconds / DAY_SECONDS)
    if days >= BOOTSTRAP_MINIMUM_VALUES:
        return days
    shortest = LEAST_BLOCK_TIMEOUTS * idle_timeout_seconds
    return min(MOST_BLOCKS_OF_SHORT_TRACE, max(1, int(length_seconds // shortest)))


def whole_milliseconds(seconds: Numbers) -> Numbers:
    """Times as they are billed: whole milliseconds, a begun one too."""
    return np.asarray(np.ceil(np.round(1e3 * seconds, 6)) / 1e3)


@dataclass(frozen=True)
class _Draws:
    """How often every block counts: once in the first row, as drawn in the resamples below."""

    weights: Numbers
    outside: float = 0.0
    """The share of resamples beyond one end of an interval."""

    @property
    def are_resampled(self) -> bool:
        """Whether there were blocks enough to draw from."""
        return len(self.weights) > 1

    def interval(self, row: Numbers) -> Interval:
        """A figure, of which the resamples follow, with its interval; some may say nothing."""
        if not self.are_resampled:
            return Interval(float(row[0]))
        low, high = np.nanquantile(row[1:], [self.outside, 1 - self.outside])
        return Interval(float(row[0]), float(low), float(high))


def _draws(ledgers: Sequence[_Ledger], confidence: float, seed: int) -> _Draws:
    """Blocks are drawn from their own trace, and not at all where one has too few of them."""
    counts = [len(ledger.calls) for ledger in ledgers]
    once = np.ones((1, sum(counts)))
    if min(counts) < BOOTSTRAP_MINIMUM_VALUES:
        return _Draws(once)
    generator = np.random.default_rng((seed, 2))
    drawn = np.hstack([generator.multinomial(n, [1 / n] * n, RESAMPLES) for n in counts])
    return _Draws(np.vstack([once, drawn]), bootstrap_tail(min(counts), confidence))


def _entries(
    ledgers: Sequence[Sequence[_Ledger]], times: AnswerTimes, draws: _Draws, confidence: float
) -> tuple[Entry, ...]:
    """A row per policy, the first one that of nothing kept warm."""
    blocks = draws.weights.T
    calls = np.concatenate([one.calls for one in ledgers[0]]) @ blocks
    cold = np.array([np.concatenate([one.cold for one in kept]) for kept in ledgers]) @ blocks
    cost = np.array([np.concatenate([one.monthly_cost for one in kept]) for kept in ledgers])
    cost = cost @ blocks
    shares = cold / np.maximum(calls, 1.0)
    # Days without a cold answer say nothing about how many of them a policy avoids.
    avoided = 1 - cold / np.where(cold[0] > 0, cold[0], np.nan)
    behind = dominated(cold.T, cost.T)
    # Of policies that do exactly the same, the first is enough.
    figures = list(zip(cold[:, 0], cost[:, 0], strict=True))
    front = {figures.index(figures[place]) for place in np.flatnonzero(~behind[0])}
    chances = behind[1:].mean(axis=0).tolist() if draws.are_resampled else [None] * len(ledgers)
    return tuple(
        Entry(
            **_totals(ledgers[place], times),
            cold_share=draws.interval(shares[place]),
            avoided_share=draws.interval(avoided[place]),
            monthly_cost=draws.interval(cost[place]),
            on_front=place in front,
            chance_dominated=chances[place],
            standing=_standing(chances[place], confidence, is_behind=bool(behind[0][place])),
        )
        for place in range(len(ledgers))
    )


def _standing(chance: float | None, confidence: float, *, is_behind: bool) -> Standing:
    if chance is not None and chance >= confidence:
        return Standing.DOMINATED
    if chance is None or chance > 1 - confidence or is_behind:
        return Standing.OPEN
    return Standing.FRONT


def _totals(ledgers: Sequence[_Ledger], times: AnswerTimes) -> dict[str, Any]:
    """What needs no interval."""
    outcomes = [ledger.outcome for ledger in ledgers]
    cold = np.sum([ledger.cold_quantiles for ledger in ledgers], axis=0)
    warm = np.sum([ledger.quantiles for ledger in ledgers], axis=0) - cold
    seconds = np.concatenate([times.warm, times.cold])
    answers = np.concatenate([warm, cold])
    calls = int(answers.sum())
    policy, pings = outcomes[0].policy, sum(len(one.pings) for one in outcomes)
    days = sum(ledger.length_seconds for ledger in ledgers) / DAY_SECONDS
    order = np.argsort(seconds, kind="stable")
    rank = np.cumsum(answers[order])

    def percentile(share: float) -> float:
        return float(seconds[order[np.searchsorted(rank, share * calls)]])

    return {
        "policy": policy.name,
        "calls": calls,
        "cold_calls": sum(len(one.cold_calls) for one in outcomes),
        "monthly_cold_calls": sum(
            len(one.outcome.cold_calls) * SECONDS_PER_MONTH / one.length_seconds for one in ledgers
        ),
        "pings": pings,
        "pings_per_day": pings / days if policy.pings_per_day is None else policy.pings_per_day,
        "cold_pings": sum(int(one.cold_pings.sum()) for one in outcomes),
        "mean_seconds": float(seconds @ answers / calls),
        "median_seconds": percentile(0.5),
        "p99_seconds": percentile(0.99) if calls >= requests_needed(0.99) else None,
        "warm_instance_seconds": sum(one.warm_instance_seconds for one in outcomes),
        "most_instances": max(one.most_instances for one in outcomes),
    }
