from __future__ import annotations

import numpy as np
import pytest

from prumo_worker.networks import network
from prumo_worker.networks.layer import BatchNormalization, Convolution, Rectifier
from prumo_worker.networks.network import Layer, assemble
from prumo_worker.networks.weights import initial_weights


@pytest.mark.parametrize("name", ["rede1", "googlenet_aux", "mobilenet", "inception_v3"])
def test_there_is_a_weight_for_every_parameter(name: str) -> None:
    built = network(name, 96, 3, 10)
    weights = initial_weights(built, seed=1)
    assert sum(array.size for array in weights.values()) == built.parameters
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float32)}


def test_a_seed_always_gives_these_very_weights() -> None:
    weights = initial_weights(network("lenet5", 28, 1, 10), seed=1)
    first = weights["conv1.weight"].ravel()[:3]
    np.testing.assert_array_equal(
        first, np.array([-0.03567597, -0.16842607, -0.28763518], np.float32)
    )
    last = weights["scores.weight"].ravel()[:2]
    np.testing.assert_array_equal(last, np.array([0.031171385, 0.0055246307], np.float32))


def test_another_seed_gives_other_weights() -> None:
    lenet5 = network("lenet5", 28, 1, 10)
    one, two = initial_weights(lenet5, seed=1), initial_weights(lenet5, seed=2)
    assert not np.array_equal(one["conv1.weight"], two["conv1.weight"])


def test_weights_spread_by_their_fan_in_and_biases_are_zero() -> None:
    weights = initial_weights(network("rede1", 32, 3, 10), seed=3)
    dense = weights["dense1.weight"]
    assert dense.std() == pytest.approx(np.sqrt(2 / dense.shape[1]), rel=0.01)
    assert abs(dense.mean()) < dense.std() / 100
    assert not weights["dense1.bias"].any()


def test_a_batch_normalisation_begins_as_the_identity() -> None:
    weights = initial_weights(assemble("own", (2, 3, 3), [Layer("bn", BatchNormalization())]), 1)
    values = {name: array.tolist() for name, array in weights.items()}
    ones, zeros = [1.0, 1.0], [0.0, 0.0]
    expected = {"bn.weight": ones, "bn.bias": zeros, "bn.mean": zeros, "bn.variance": ones}
    assert values == expected


def test_a_layer_keeps_its_weights_when_others_come_before_it() -> None:
    last = Layer("last", Convolution(4, kernel=3))
    short = assemble("short", (2, 9, 9), [last])
    long = assemble("long", (2, 9, 9), [Layer("first", Convolution(2, kernel=1)), last])
    name = "last.weight"
    np.testing.assert_array_equal(initial_weights(short, 1)[name], initial_weights(long, 1)[name])


def test_a_network_without_weights_has_none() -> None:
    assert initial_weights(assemble("own", (1, 2, 2), [Layer("relu", Rectifier())]), 1) == {}
