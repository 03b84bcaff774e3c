"""Which run comes next, decided without running anything."""

from __future__ import annotations

from itertools import count

import pytest

from prumo.results.record import Verdict
from prumo.run.schedule import Outcome, Schedule, unsettled
from prumo.study import Adaptive, Order, Scenario

FINISHED = Outcome(Verdict.FINISHED)
LISTED = Order(kind="listed")


def scenarios(*batch_sizes: int, network: str = "rede1") -> list[Scenario]:
    return [
        Scenario(number, {"batch_size": b}, {"batch_size": b, "network": network})
        for number, b in enumerate(batch_sizes, start=1)
    ]


def carry_out(schedule: Schedule, **endings: Outcome) -> list[str]:
    """The order of runs when each ends as given (`C01_r1=…`) or else well."""
    started = []
    for run, why_not in schedule.steps():
        if why_not:
            started.append(f"skip {run.name}")
            schedule.record(run, Outcome(Verdict.NOT_TRIED))
            continue
        started.append(run.name)
        schedule.record(run, endings.get(run.name.replace("-", "_"), FINISHED))
    return started


def test_every_run_of_the_plan_is_started_once() -> None:
    assert carry_out(Schedule(scenarios(1, 2), 2, LISTED, {})) == [
        "C01-r1",
        "C01-r2",
        "C02-r1",
        "C02-r2",
    ]


def test_runs_with_an_outcome_are_not_started_again() -> None:
    schedule = Schedule(scenarios(1, 2), 2, LISTED, {"C01-r1": FINISHED, "C02-r2": FINISHED})
    assert [run.name for run in schedule.pending()] == ["C01-r2", "C02-r1"]
    assert carry_out(schedule) == ["C01-r2", "C02-r1"]


@pytest.mark.parametrize("verdict", list(Verdict))
def test_only_what_may_end_otherwise_is_run_again(verdict: Verdict) -> None:
    again = verdict in {Verdict.UNAVAILABLE, Verdict.INTERRUPTED}
    assert unsettled(verdict, retry_failed=False) is again
    assert unsettled(verdict, retry_failed=True) is (verdict is not Verdict.FINISHED)


def test_a_batch_that_did_not_fit_marks_larger_ones_of_its_family() -> None:
    family = scenarios(32, 64, 128)
    other = Scenario(4, {}, {"batch_size": 128, "network": "rede2"})
    schedule = Schedule([*family, other], 2, LISTED, {})
    assert carry_out(schedule, C02_r1=Outcome(Verdict.OUT_OF_MEMORY)) == [
        "C01-r1",
        "C01-r2",
        "C02-r1",
        "skip C02-r2",
        "skip C03-r1",
        "skip C03-r2",
        "C04-r1",
        "C04-r2",
    ]


def test_a_batch_that_did_not_fit_earlier_still_counts_after_a_resume() -> None:
    earlier = {"C01-r1": Outcome(Verdict.OUT_OF_MEMORY)}
    assert carry_out(Schedule(scenarios(32, 64), 1, LISTED, earlier)) == ["skip C02-r1"]


def test_a_skip_says_which_batch_did_not_fit() -> None:
    schedule = Schedule(scenarios(32, 64), 1, LISTED, {"C01-r1": Outcome(Verdict.OUT_OF_MEMORY)})
    _, why_not = next(schedule.steps())
    assert "32" in why_not
    assert "C1" in why_not


def goal(**values: float) -> Adaptive:
    return Adaptive.model_validate(
        {"metric": "seconds", "half_width_percent": 5.0, "minimum": 2, "maximum": 5, **values}
    )


def outcomes_of(values: dict[str, list[float]]) -> dict[str, Outcome]:
    return {
        f"{scenario}_r{i}": Outcome(Verdict.FINISHED, {"seconds": value})
        for scenario, series in values.items()
        for i, value in enumerate(series, start=1)
    }


def test_an_adaptive_study_goes_on_only_where_it_is_unsure() -> None:
    schedule = Schedule(scenarios(1, 2), goal(), LISTED, {})
    steady, noisy = [10.0, 10.01], [10.0, 14.0, 12.0, 9.0, 13.0]
    started = carry_out(schedule, **outcomes_of({"C01": steady, "C02": noisy}))
    assert started == ["C01-r1", "C01-r2", "C02-r1", "C02-r2", "C02-r3", "C02-r4", "C02-r5"]


def test_an_adaptive_study_stops_when_it_is_sure() -> None:
    schedule = Schedule(scenarios(1), goal(), LISTED, {})
    settling = [10.0, 10.4, 10.2, 10.2, 10.2]
    assert carry_out(schedule, **outcomes_of({"C01": settling})) == [
        "C01-r1",
        "C01-r2",
        "C01-r3",
    ]


def test_one_failure_does_not_end_the_search_for_a_narrow_interval() -> None:
    schedule = Schedule(scenarios(1), goal(), LISTED, {})
    endings = outcomes_of({"C01": [10.0, 0, 10.0]}) | {"C01_r2": Outcome(Verdict.CRASHED)}
    assert carry_out(schedule, **endings) == ["C01-r1", "C01-r2", "C01-r3"]


def test_what_is_pending_is_told_also_after_the_first_round() -> None:
    earlier = {f"C01-r{i}": Outcome(Verdict.FINISHED, {"seconds": 10.0 + i}) for i in (1, 2)}
    schedule = Schedule(scenarios(1), goal(), LISTED, earlier)
    assert [run.name for run in schedule.pending()] == ["C01-r3"]


def test_a_scenario_without_figures_is_not_repeated_for_ever() -> None:
    schedule = Schedule(scenarios(1), goal(), LISTED, {})
    crashed = Outcome(Verdict.CRASHED)
    assert len(carry_out(schedule, C01_r1=crashed, C01_r2=crashed)) == 2


def test_a_resumed_adaptive_study_continues_where_it_was() -> None:
    values = count()
    earlier = {
        f"C01-r{i}": Outcome(Verdict.FINISHED, {"seconds": 10.0 + next(values)}) for i in (1, 2, 3)
    }
    schedule = Schedule(scenarios(1), goal(), LISTED, earlier)
    assert carry_out(schedule, **outcomes_of({"C01": [0, 0, 0, 11.0, 12.0]})) == [
        "C01-r4",
        "C01-r5",
    ]
