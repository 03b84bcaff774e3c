"""A guess at the time left, from what runs took so far."""

from __future__ import annotations

from prumo.run.schedule import Remaining
from prumo.study import Run, Scenario


def run(number: int, replication: int = 1) -> Run:
    return Run(Scenario(number, {}, {}), replication)


def test_nothing_is_guessed_before_the_first_run() -> None:
    assert Remaining([run(1)], {}).seconds() is None


def test_a_scenario_that_ran_before_is_expected_to_take_as_long() -> None:
    remaining = Remaining([run(1, 2), run(2)], {"C1": [10.0, 20.0]})
    assert remaining.seconds() == 15.0 + 15.0


def test_runs_that_end_shorten_the_rest() -> None:
    remaining = Remaining([run(1), run(2), run(3)], {})
    remaining.ended("C01-r1", "C1", 4.0)
    assert remaining.seconds() == 8.0
    remaining.ended("C02-r1", "C2", 8.0)
    assert remaining.seconds() == 6.0
    assert (remaining.done, remaining.total) == (2, 3)


def test_runs_that_were_not_started_teach_nothing() -> None:
    remaining = Remaining([run(1), run(2)], {})
    remaining.ended("C01-r1", "C1", None)
    assert remaining.seconds() is None


def test_runs_that_an_adaptive_study_adds_are_counted() -> None:
    remaining = Remaining([], {"C1": [3.0]})
    remaining.started(run(1, 4))
    assert (remaining.total, remaining.seconds()) == (1, 3.0)
