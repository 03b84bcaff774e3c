"""LeNet-5 after LeCun et al. 1998, with the simplifications that are customary today.

The second convolution sees all channels, the pooling has no weights of its own and the output is
a dense layer instead of radial basis functions. Padding 2 gives 28x28 images the paper's 32x32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.layer import AveragePooling, Convolution, Dense, Flatten, Tanh
from prumo_worker.networks.network import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator


def layers(classes: int) -> Iterator[Layer]:
    """Two convolutions and three dense layers."""
    yield Layer("conv1", Convolution(6, kernel=5, padding=2))
    yield Layer("tanh1", Tanh())
    yield Layer("pool1", AveragePooling(kernel=2, stride=2))
    yield Layer("conv2", Convolution(16, kernel=5))
    yield Layer("tanh2", Tanh())
    yield Layer("pool2", AveragePooling(kernel=2, stride=2))
    yield Layer("flatten", Flatten())
    yield Layer("dense1", Dense(120))
    yield Layer("tanh3", Tanh())
    yield Layer("dense2", Dense(84))
    yield Layer("tanh4", Tanh())
    yield Layer("scores", Dense(classes))
