"""Weights for frameworks whose images have their channels last."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from prumo_worker.networks.layer import Add, Convolution, Dense, Flatten, Rectifier
from prumo_worker.networks.network import Layer, assemble
from prumo_worker.networks.weights import channels_last_weights, initial_weights
from prumo_worker.task import Unavailable
from support import reference_network


def test_a_network_computes_the_same_with_channels_last() -> None:
    net = assemble(
        "own",
        (2, 6, 5),
        [
            Layer("conv", Convolution(4, kernel=(3, 2), groups=2)),
            Layer("flat", Flatten()),
            Layer("relu", Rectifier()),
            Layer("hidden", Dense(7)),
            Layer("scores", Dense(3)),
        ],
    )
    weights = initial_weights(net, seed=1)
    images = np.random.default_rng(1).normal(size=(3, 2, 6, 5)).astype(np.float32)
    turned = channels_last_weights(net, weights)

    # (image, height, width, channel, window height, window width)
    windows = sliding_window_view(images.transpose(0, 2, 3, 1), (3, 2), axis=(1, 2))
    filtered = np.concatenate(
        [
            np.einsum("nhwcij,ijco->nhwo", windows[:, :, :, group : group + 1], part)
            for group, part in enumerate(np.split(turned["conv.weight"], 2, axis=3))
        ],
        axis=3,
    )
    flat = np.maximum((filtered + turned["conv.bias"]).reshape(3, -1), 0)
    hidden = flat @ turned["hidden.weight"] + turned["hidden.bias"]
    scores = hidden @ turned["scores.weight"] + turned["scores.bias"]

    assert turned["conv.weight"].shape == (3, 2, 1, 4)
    expected = reference_network.scores(net, weights, images)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


def test_a_flattened_image_cannot_meet_another_vector() -> None:
    net = assemble(
        "own",
        (1, 2, 2),
        [
            Layer("flat", Flatten()),
            Layer("dense", Dense(4)),
            Layer("sum", Add(), inputs=("flat", "dense")),
        ],
    )
    with pytest.raises(Unavailable, match="layer sum joins a flattened image"):
        channels_last_weights(net, initial_weights(net, seed=1))
