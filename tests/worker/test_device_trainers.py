"""Trainers for devices that give no events of their own, tried on the processor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from prumo_worker.networks.weights import initial_weights
from support.device_trainer_process import STEPS, train_as_on_a_device
from support.reference_training import losses_of
from support.small_networks import small_network
from support.trainer_process import SEED, pictures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.frameworks

SETTINGS: dict[str, Any] = {"learning_rate": 0.05, "momentum": 0.9}


@pytest.fixture(scope="module")
def expected() -> list[float]:
    net = small_network("convolution")
    weights = initial_weights(net, SEED)
    return losses_of(net, weights, *pictures(), steps=STEPS, **SETTINGS)


@pytest.mark.parametrize("framework", ["tensorflow", "jax", "mxnet"])
def test_steps_that_nobody_waits_for_are_timed_and_train_the_same(
    framework: str, framework_python: Callable[[str], Path], expected: list[float]
) -> None:
    trained = train_as_on_a_device(framework_python(framework), framework, **SETTINGS)
    assert trained["losses"] == pytest.approx(expected, rel=1e-4)
    assert len(trained["spans"]) == 2 * STEPS
    assert min(trained["spans"]) >= 0
    # Each step takes time of its own; copies to where the data is already may take next to none.
    assert min(trained["spans"][1::2]) > 0


def test_tensorflow_goes_one_step_ahead_of_its_device_and_no_further(
    framework_python: Callable[[str], Path],
) -> None:
    trained = train_as_on_a_device(framework_python("tensorflow"), "tensorflow", **SETTINGS)
    assert trained["settled"] == [True] * STEPS


@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_half_precision_learns_with_a_scaled_loss(
    framework: str, framework_python: Callable[[str], Path], expected: list[float]
) -> None:
    half = train_as_on_a_device(
        framework_python(framework), framework, precision="fp16", **SETTINGS
    )
    assert half["losses"] == pytest.approx(expected, rel=0.02)
    assert half["losses"] != pytest.approx(expected, rel=1e-6)
