"""A trace through a policy: cold and warm answers as of a platform followed by the instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prumo.errors import InputError
from prumo_endpoint.keep_warm.policy import Policy
from prumo_endpoint.keep_warm.simulation import CallsAtOnce
from prumo_endpoint.keep_warm.times import AnswerTimes
from prumo_endpoint.traces import Arrivals
from support.serverless_pool import Pool, served

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo_endpoint.keep_warm.policy import Times
    from prumo_endpoint.keep_warm.simulation import PolicyOutcome


@dataclass
class Told(Policy):
    """Pings at times that a test says."""

    seconds: Sequence[float]
    reserved_instances: int = 0
    name = "told"

    def pings(self, calls: Arrivals, idle_timeout_seconds: float) -> Times:
        del idle_timeout_seconds
        pings = np.sort(np.asarray(self.seconds, dtype=np.float64))
        return pings[pings < calls.length_seconds]


def arrivals(seconds: Sequence[float], length_seconds: float = 0.0) -> Arrivals:
    times = np.sort(np.asarray(seconds, dtype=np.float64))
    return Arrivals(times, max(length_seconds, float(times[-1])))


# Coarse numbers make ties, fine ones make crowds.
GRIDS = st.sampled_from([1.0, 0.5, 0.013])


@settings(max_examples=150, deadline=None)
@given(
    calls=st.lists(st.integers(0, 400), min_size=1, max_size=60),
    pings=st.lists(st.integers(0, 400), max_size=12),
    grid=GRIDS,
    cold=st.lists(st.integers(1, 40), min_size=1, max_size=3),
    warm=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    timeout=st.sampled_from([0.25, 3.0, 20.0]),
    reserved=st.integers(0, 3),
    length=st.sampled_from([0.0, 500.0]),
)
def test_arrays_and_single_instances_agree(
    calls: list[int],
    pings: list[int],
    grid: float,
    cold: list[int],
    warm: list[int],
    timeout: float,
    reserved: int,
    length: float,
) -> None:
    trace = arrivals([grid * call for call in calls], length)
    times = AnswerTimes([0.5 * value for value in cold], [0.25 * value for value in warm])
    simulated = CallsAtOnce(trace, times, timeout)

    outcome = simulated.under(Told([grid * ping for ping in pings], reserved))

    _same_as_pool(simulated, outcome, reserved)


def _same_as_pool(simulated: CallsAtOnce, outcome: PolicyOutcome, reserved: int) -> None:
    times, trace = simulated.times, simulated.arrivals
    pool = Pool(simulated.idle_timeout_seconds, reserved)
    found = served(
        pool,
        list(
            zip(
                trace.seconds.tolist(),
                times.cold[simulated.quantiles].tolist(),
                times.warm[simulated.quantiles].tolist(),
                strict=True,
            )
        ),
        list(
            zip(
                outcome.pings.tolist(),
                times.cold[outcome.ping_quantiles].tolist(),
                times.warm[outcome.ping_quantiles].tolist(),
                strict=True,
            )
        ),
        trace.length_seconds,
    )
    assert outcome.cold_calls.tolist() == found.cold_calls
    assert np.flatnonzero(outcome.cold_pings).tolist() == found.cold_pings
    assert outcome.warm_instance_seconds == pytest.approx(found.warm_seconds, rel=1e-5, abs=1e-4)


def test_calls_at_the_same_time_need_an_instance_each() -> None:
    simulated = CallsAtOnce(arrivals([0.0, 1.0, 100.0, 100.1]), AnswerTimes([5.0], [0.5]), 600.0)

    outcome = simulated.under(Told([]))

    # The second call comes while the first still starts; later both instances are warm.
    assert outcome.cold_calls.tolist() == [0, 1]
    assert outcome.most_instances == 2


def test_a_ping_keeps_an_instance_and_may_be_in_the_way() -> None:
    times = AnswerTimes([5.0], [0.5])
    simulated = CallsAtOnce(arrivals([0.0, 900.0, 1200.25]), times, 600.0)

    outcome = simulated.under(Told([500.0, 1200.0]))

    assert outcome.cold_calls.tolist() == [0, 2]
    assert not outcome.cold_pings.any()


def test_a_ping_may_be_cold_itself() -> None:
    simulated = CallsAtOnce(arrivals([0.0, 1900.0]), AnswerTimes([5.0], [0.5]), 600.0)

    outcome = simulated.under(Told([1500.0]))

    assert outcome.cold_pings.tolist() == [True]
    assert outcome.cold_calls.tolist() == [0]


def test_reserved_instances_are_warm_and_calls_beyond_them_are_not() -> None:
    simulated = CallsAtOnce(arrivals([0.0, 0.1, 5000.0]), AnswerTimes([5.0], [0.5]), 600.0)

    outcome = simulated.under(Told([], reserved_instances=1))

    assert outcome.cold_calls.tolist() == [1]
    assert outcome.is_reserved is not None
    assert outcome.is_reserved.tolist() == [True, False, True]


def test_measured_times_are_drawn_equally_often() -> None:
    trace = arrivals([10.0 * number for number in range(100_000)])

    simulated = CallsAtOnce(trace, AnswerTimes([5.0, 9.0], [0.25, 0.5, 1.0]), 600.0)

    _, counts = np.unique(simulated.times.warm[simulated.quantiles], return_counts=True)
    assert counts == pytest.approx([33_333] * 3, rel=0.03)


@pytest.mark.parametrize("seconds", [[], [0.0], [-1.0], [float("nan")]])
def test_times_that_nobody_measured_are_refused(seconds: list[float]) -> None:
    with pytest.raises(InputError, match="warm time"):
        AnswerTimes([5.0], seconds)


@pytest.mark.parametrize("timeout", [0.0, -1.0, 86_401.0, float("nan")])
def test_idle_times_out_of_reach_are_refused(timeout: float) -> None:
    with pytest.raises(InputError, match="idle time-out"):
        CallsAtOnce(arrivals([0.0]), AnswerTimes([5.0], [0.5]), timeout)


def test_cold_answers_of_independent_calls_are_as_many_as_theory_says() -> None:
    # A Poisson stream is silent for longer than the time-out with probability exp(-rate * timeout).
    noise = np.random.default_rng(1)
    trace = arrivals(np.cumsum(noise.exponential(400.0, 200_000)).tolist())
    simulated = CallsAtOnce(trace, AnswerTimes([0.002], [0.001]), 600.0)

    share = len(simulated.under(Told([])).cold_calls) / 200_000

    assert share == pytest.approx(np.exp(-600 / 400), rel=0.02)
