from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from prumo.report.sections.training import convergence_sentences
from prumo.statistics.training import Convergence, Losses, convergences, losses_of

NO_EVENTS = pl.LazyFrame(
    schema={"run": pl.String, "epoch": pl.Int64, "step": pl.Int64, "seconds": pl.Float64}
    | {"loss": pl.Float64}
)


def test_scenarios_are_compared_at_the_loss_that_the_slowest_learner_reaches() -> None:
    found = _convergence({"C1": 0.5, "C2": 0.25})

    # After ten epochs the slow one is at exp(-2.5), where the fast one was after five.
    assert found.target == pytest.approx(math.exp(-2.5))
    assert _means(found, "epochs_to_loss") == {"C1": 5.0, "C2": 10.0}
    assert _means(found, "seconds_to_loss") == {"C1": 10.0, "C2": 20.0}


def test_money_is_the_part_of_a_runs_cost_until_then() -> None:
    runs = _runs({"C1": 0.5, "C2": 0.25}).with_columns(cost_usd=pl.lit(4.0))

    assert _means(_convergence(runs=runs), "cost_to_loss_usd") == {"C1": 2.0, "C2": 4.0}


def test_a_scenario_that_does_not_learn_sets_no_target_and_is_said_not_to_reach_it() -> None:
    found = _convergence({"C1": 0.5, "C2": 0.25, "C3": 0.001})

    assert found.target == pytest.approx(math.exp(-2.5))
    assert found.never == ("C3",)
    assert "Never down to that loss: C3." in _said(found)


def test_a_scenario_of_which_some_runs_learn_is_named() -> None:
    rates = {"C1": 0.5, "C2": 0.25, "C3": 0.3}
    runs = _runs(rates, replications=2)
    losses = _losses(runs, rates).filter(
        (pl.col("run") != "C3-r2") | (pl.col("loss") > math.exp(-0.05))
    )
    extra = pl.DataFrame(
        {"run": ["C3-r2"] * 3, "place": [1, 2, 3], "seconds": [2.0, 4.0, 6.0], "loss": [1.0] * 3}
    )
    (found,) = convergences(runs, ["rate"], Losses(pl.concat([losses, extra]), "epoch"))

    assert found.sometimes == ("C3",)
    assert "in some runs only" in " ".join(_said(found))


def test_runs_of_a_scenario_spread_into_an_interval() -> None:
    rates = {"C1": 0.5, "C2": 0.25}
    runs = _runs(rates, replications=3)
    later = pl.col("seconds") * (1 + 0.1 * pl.col("run").str.slice(-1).cast(pl.Int64))
    losses = _losses(runs, rates).with_columns(seconds=later)
    (found,) = convergences(runs, ["rate"], Losses(losses, "epoch"))
    row = found.summary.filter(metric="seconds_to_loss", scenario="C1").row(0, named=True)

    assert (row["n"], row["mean"]) == (3, pytest.approx(12.0))
    assert row["ci_low"] < row["mean"] < row["ci_high"]


def test_losses_of_two_data_sets_are_not_compared() -> None:
    rates = {"C1": 0.5, "C2": 0.25, "C3": 0.1, "C4": 0.05}
    half = pl.col("scenario").is_in(["C1", "C2"])
    runs = _runs(rates).with_columns(
        dataset=pl.when(half).then(pl.lit("mnist")).otherwise(pl.lit("cifar10"))
    )
    mnist, cifar = convergences(runs, ["dataset", "rate"], Losses(_losses(runs, rates), "epoch"))

    assert (mnist.task, cifar.task) == ({"dataset": "mnist"}, {"dataset": "cifar10"})
    assert mnist.target == pytest.approx(math.exp(-2.5))
    assert cifar.target == pytest.approx(math.exp(-0.5))
    assert _said(cifar)[0] == "Epochs until the loss: from 5 (C3) to 10 (C4)."


def test_a_single_scenario_is_compared_with_nobody() -> None:
    runs = _runs({"C1": 0.5})

    assert convergences(runs, ["rate"], Losses(_losses(runs, {"C1": 0.5}), "epoch")) == []


def test_losses_come_from_epochs_where_there_are_several() -> None:
    epochs = _events("epoch", [(0, 9.0), (1, 2.0), (2, 1.0), (3, 0.5)])
    losses = losses_of(epochs, NO_EVENTS)

    assert losses.unit == "epoch"
    assert losses.table.rows() == [
        ("C1-r1", 1, 1.0, 2.0),
        ("C1-r1", 2, 2.0, 1.0),
        ("C1-r1", 3, 3.0, 0.5),
    ]


def test_single_steps_are_smoothed_over_a_twentieth_of_the_run() -> None:
    steps = _events("step", [(1, 1.0 if step % 2 else 0.0) for step in range(40)])
    losses = losses_of(NO_EVENTS, steps)

    assert losses.unit == "step"
    assert losses.table["loss"].to_list() == [0.5] * 39
    assert losses.table["place"].to_list() == list(range(2, 41))


def test_a_handful_of_steps_makes_a_curve_but_tells_nothing_of_convergence() -> None:
    steps = _events("step", [(1, 1.0 / (1 + step)) for step in range(10)])
    losses = losses_of(NO_EVENTS, steps)

    assert losses.table["place"].to_list() == list(range(1, 11))
    assert losses.short == {"C1-r1"}


def test_scenarios_that_are_left_out_are_named_with_the_reason() -> None:
    rates = {"C1": 0.5, "C2": 0.25, "C3": 0.5, "C4": 0.5}
    runs = _runs(rates)
    told = _losses(runs, rates).filter(pl.col("run") != "C4-r1")
    (found,) = convergences(runs, ["rate"], Losses(told, "step", frozenset({"C3-r1"})))

    assert (found.short, found.silent) == (("C3",), ("C4",))
    assert _said(found)[-2:] == [
        "Left out, since a run of fewer than 20 steps tells too little: C3.",
        "Left out, since no loss was reported: C4.",
    ]


def test_seconds_that_are_not_known_make_no_sum() -> None:
    epochs = _events("epoch", [(1, 2.0), (2, 1.0), (3, 0.5)]).with_columns(
        seconds=pl.when(pl.col("epoch") != 2).then("seconds")
    )

    assert losses_of(epochs, NO_EVENTS).table["seconds"].to_list() == [1.0, None, None]


def _convergence(
    rates: dict[str, float] | None = None, runs: pl.DataFrame | None = None
) -> Convergence:
    known = rates or {"C1": 0.5, "C2": 0.25}
    table = _runs(known) if runs is None else runs
    (found,) = convergences(table, ["rate"], Losses(_losses(table, known), "epoch"))
    return found


def _runs(rates: dict[str, float], replications: int = 1) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "run": f"{name}-r{replication}",
            "scenario": name,
            "rate": rate,
            "verdict": "finished",
            "train_seconds": 20.0,
        }
        for name, rate in rates.items()
        for replication in range(1, replications + 1)
    )


def _losses(runs: pl.DataFrame, rates: dict[str, float]) -> pl.DataFrame:
    """Ten epochs of two seconds each, in which a loss falls at its scenario's rate."""
    rows: list[dict[str, Any]] = [
        {
            "run": run,
            "place": epoch,
            "seconds": 2.0 * epoch,
            "loss": math.exp(-rates[scenario] * epoch),
        }
        for run, scenario in runs.select("run", "scenario").rows()
        for epoch in range(1, 11)
    ]
    return pl.DataFrame(rows)


def _events(kind: str, losses: list[tuple[int, float]]) -> pl.LazyFrame:
    return pl.LazyFrame(
        {
            "run": ["C1-r1"] * len(losses),
            "epoch": [epoch for epoch, _ in losses],
            "step": list(range(1, len(losses) + 1)),
            "seconds": [1.0] * len(losses),
            "loss": [loss for _, loss in losses],
        }
    ).select("run", "epoch", *(["step"] if kind == "step" else []), "seconds", "loss")


def _means(found: Convergence, metric: str) -> dict[str, float]:
    rows = found.summary.filter(pl.col("metric") == metric)
    return dict(zip(rows["scenario"], rows["mean"], strict=True))


def _said(found: Convergence) -> list[str]:
    return [str(message) for message in convergence_sentences(found)]
