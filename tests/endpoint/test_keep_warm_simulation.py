"""A trace through a policy: cold and warm answers as of a platform followed by the instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prumo_endpoint.keep_warm.policy import Policy
from prumo_endpoint.keep_warm.simulation import CallsAtOnce
from prumo_endpoint.keep_warm.times import AnswerTimes
from prumo_endpoint.traces import Arrivals
from support.serverless_pool import Pool, served

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo_endpoint.keep_warm.policy import Times
    from prumo_endpoint.keep_warm.simulation import Outcome


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


@settings(max_examples=400, deadline=None)
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


def _same_as_pool(simulated: CallsAtOnce, outcome: Outcome, reserved: int) -> None:
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
