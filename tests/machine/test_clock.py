from __future__ import annotations

from itertools import count

import pytest

from prumo.machine.machine import clock_step_seconds


def test_a_coarse_clock_is_found_out_though_it_is_read_often() -> None:
    readings = count()

    # Ten readings fall into each step of 16 ms.
    assert clock_step_seconds(lambda: next(readings) // 10 * 16_000_000) == pytest.approx(0.016)


def test_the_clock_of_this_machine_tells_less_than_a_millisecond() -> None:
    assert 0 < clock_step_seconds() < 1e-3
