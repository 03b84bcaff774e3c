from __future__ import annotations

from typing import Any

import pytest

from prumo.run.verdict import SWAP_GROWTH_BYTES, WORTHLESS, Anomaly, find_anomalies


def steps(*losses: float | None) -> list[dict[str, Any]]:
    return [
        {"event": "step", "epoch": 1, "step": number, "loss": loss}
        | ({"not_finite": ["loss"]} if loss is None else {})
        for number, loss in enumerate(losses, start=1)
    ]


FALLING = steps(*[2.0 - 0.1 * step for step in range(16)])


def test_a_loss_that_falls_is_not_odd() -> None:
    assert find_anomalies(FALLING, {"loss": 0.5}, [0.0, 0.0]) == []


@pytest.mark.parametrize(
    ("losses", "anomaly"),
    [
        ([2.0, 1.0, None, 0.5], Anomaly.NOT_FINITE_LOSS),
        ([2.0, 1.0, -0.1, 0.5], Anomaly.NEGATIVE_LOSS),
        ([2.3, 2.31, 2.29, 2.3] * 4, Anomaly.FLAT_LOSS),
        ([0.0] * 16, Anomaly.FLAT_LOSS),
        ([1.0 + 0.1 * step for step in range(16)], Anomaly.RISING_LOSS),
    ],
)
def test_an_odd_loss_is_named(losses: list[float | None], anomaly: Anomaly) -> None:
    assert find_anomalies(steps(*losses), {}, []) == [anomaly]


def test_the_warm_up_is_not_looked_at() -> None:
    warm_up = [{"event": "step", "epoch": 0, "loss": loss} for loss in (-1.0, 0.1, 0.1)]
    assert find_anomalies([*warm_up, *FALLING], {}, []) == []


def test_a_few_losses_tell_no_trend() -> None:
    assert find_anomalies(steps(1.0, 1.0, 1.0), {}, []) == []


def test_without_steps_the_epochs_are_looked_at() -> None:
    epochs = [{"event": "epoch", "epoch": number, "loss": 2.3} for number in range(1, 11)]
    assert find_anomalies(epochs, {}, []) == [Anomaly.FLAT_LOSS]


def test_a_negative_loss_among_the_metrics_alone_is_named() -> None:
    assert find_anomalies([], {"loss": -0.2}, []) == [Anomaly.NEGATIVE_LOSS]


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), 10**400])
def test_a_loss_that_is_no_figure_is_named_wherever_it_is_told(loss: float) -> None:
    assert find_anomalies([], {"loss": loss}, []) == [Anomaly.NOT_FINITE_LOSS]
    assert find_anomalies(steps(loss), {}, []) == [Anomaly.NOT_FINITE_LOSS]


def test_a_negative_loss_of_an_epoch_is_named_although_steps_are_told() -> None:
    epoch = {"event": "epoch", "epoch": 1, "loss": -0.5}
    assert find_anomalies([*FALLING, epoch], {}, []) == [Anomaly.NEGATIVE_LOSS]


def test_only_a_loss_that_cannot_be_makes_a_run_worthless() -> None:
    worthless = {anomaly for anomaly in Anomaly if anomaly in WORTHLESS}
    assert worthless == {Anomaly.NOT_FINITE_LOSS, Anomaly.NEGATIVE_LOSS}


def test_swap_that_grows_during_the_run_is_named() -> None:
    before = 5.0 * 2**30
    assert find_anomalies(FALLING, {}, [before, before + 2 * SWAP_GROWTH_BYTES]) == [
        Anomaly.SWAP_USED
    ]


def test_swap_that_was_there_before_is_not_the_runs() -> None:
    assert find_anomalies(FALLING, {}, [5.0 * 2**30, 5.0 * 2**30]) == []
