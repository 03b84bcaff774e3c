"""Spans of time and money from simulated studies, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from prumo.forecast.document import Basis, Grounds
from prumo.forecast.observation import Kind
from prumo.forecast.simulation import simulate
from prumo.forecast.study_forecast import Bill, summarise
from prumo.money.billing import Rate
from prumo.money.price import Kind as PriceKind
from prumo.money.price import Purchase, Unit
from prumo.report.forecast import forecast_sentences
from prumo.study import CostSettings, Scenario
from support.measured_trainings import measured_trainings

if TYPE_CHECKING:
    from prumo.forecast.document import Forecast

NOW = datetime(2026, 11, 15, tzinfo=UTC)
EXACT = Rate(
    price="here/box@room",
    kind=PriceKind.MACHINE,
    purchase=Purchase.ON_DEMAND,
    amount=3600.0,
    unit=Unit.HOUR,
    currency="USD",
    billing="exact",
    as_of=NOW.date(),
    source="a test",
)
TRAININGS = measured_trainings()[:4]
GROUNDS = Grounds(probe_runs=3, probe_seconds=61.0, probed=("C1", "C2"))


def _forecast(bill: Bill, *, measured: int = 2) -> Forecast:
    runs = [run for case in TRAININGS[:measured] for run in case.runs]
    scenarios = [
        Scenario(number, {"number": number}, {}) for number in range(1, len(TRAININGS) + 1)
    ]
    subjects = [case.subject() for case in TRAININGS]
    return summarise(
        "demo",
        scenarios,
        simulate(subjects, runs),
        {case.name: "no GPU here" for case in TRAININGS},
        bill,
        GROUNDS,
        NOW,
    )


def test_the_total_is_the_sum_of_the_scenarios() -> None:
    forecast = _forecast(Bill())

    assert forecast.seconds is not None
    assert forecast.seconds.value == pytest.approx(
        sum(row.seconds.value for row in forecast.scenarios if row.seconds)
    )
    assert forecast.seconds.low < forecast.seconds.value < forecast.seconds.high
    assert [row.basis for row in forecast.scenarios] == [Basis.MEASURED] * 2 + [Basis.SCALED] * 2
    assert forecast.cost is None


def test_the_interval_of_the_total_is_narrower_than_all_ends_added() -> None:
    forecast = _forecast(Bill())
    assert forecast.seconds is not None
    added = sum(row.seconds.high - row.seconds.low for row in forecast.scenarios if row.seconds)

    assert forecast.seconds.high - forecast.seconds.low < added


def test_money_follows_the_billed_time() -> None:
    trained = _forecast(Bill(CostSettings(), {"": EXACT}))
    whole = _forecast(Bill(CostSettings(setup=True), {"": EXACT}))

    assert trained.billed == "train_seconds"
    assert whole.cost is not None
    assert whole.seconds is not None
    # One dollar a second.
    assert whole.cost.value == pytest.approx(whole.seconds.value)
    assert trained.cost is not None
    assert trained.cost.value < whole.cost.value


def test_a_minimum_is_billed_for_every_run_that_is_a_rental_of_its_own() -> None:
    minute = EXACT.model_copy(update={"billing": "per_second_from_minute"})
    own = _forecast(Bill(CostSettings(rental="own"), {"": minute}))
    shared = _forecast(Bill(CostSettings(), {"": minute}))

    assert own.cost is not None
    assert shared.cost is not None
    # Twenty short runs of a minute each, at a dollar a second.
    assert own.cost.value == own.cost.low == 20 * 60
    assert shared.cost.value < 300


def test_a_rate_in_another_currency_is_not_added() -> None:
    real = EXACT.model_copy(update={"currency": "BRL"})
    cases = [
        replace(case, kind=Kind(machine=name)) for case, name in zip(TRAININGS, "aabb", strict=True)
    ]
    simulation = simulate(
        [case.subject() for case in cases],
        [replace(run, kind=case.kind) for case in cases for run in case.runs],
    )
    scenarios = [Scenario(number, {}, {}) for number in range(1, 5)]

    forecast = summarise(
        "demo",
        scenarios,
        simulation,
        {},
        Bill(CostSettings(), {"a": EXACT, "b": real}),
        GROUNDS,
        NOW,
    )

    assert [row.cost is None for row in forecast.scenarios] == [False, False, True, True]
    assert any(
        "No price is known for 2 scenarios" in str(said) for said in forecast_sentences(forecast)
    )


def test_what_cannot_be_forecast_is_said_with_the_reason() -> None:
    forecast = _forecast(Bill(), measured=0)
    said = " ".join(map(str, forecast_sentences(forecast)))

    assert forecast.seconds is None
    assert [row.scenario for row in forecast.unknown] == ["C1", "C2", "C3", "C4"]
    assert "Nothing can be said about the time of demo." in said
    assert "Not forecast: C1, C2, C3, C4 (no GPU here)" in said


def test_a_busy_machine_is_told() -> None:
    quiet = _forecast(Bill())
    busy = quiet.model_copy(
        update={"grounds": GROUNDS.model_copy(update={"pressure_percent": 60.0})}
    )

    assert not any("Others were at work" in str(said) for said in forecast_sentences(quiet))
    assert any("60 % of the time" in str(said) for said in forecast_sentences(busy))


def test_a_forecast_tells_what_it_rests_on() -> None:
    said = " ".join(map(str, forecast_sentences(_forecast(Bill(CostSettings(), {"": EXACT})))))

    assert said.startswith("20 runs will take ")
    assert "the time of the training alone being paid for" in said
    assert "It rests on 3 short runs made for it, of C1, C2, which took 61 s in all." in said
    assert "2 of 4 scenarios were not measured" in said
    assert "With 95 % probability" in said
