"""Networks small enough to compute by hand, for the process of a test and for its worker alike."""

from __future__ import annotations

from prumo_worker.networks import layer
from prumo_worker.networks.network import IMAGE, Layer, Network, assemble

CLASSES = 3
SHAPE = (2, 5, 5)

_HEAD = [Layer("flat", layer.Flatten()), Layer("scores", layer.Dense(CLASSES))]

LAYERS: dict[str, list[Layer]] = {
    "regression": _HEAD,
    "normalized": [Layer("norm", layer.BatchNormalization(momentum=0.75)), *_HEAD],
    "dropped": [
        Layer("flat", layer.Flatten()),
        Layer("drop", layer.Dropout(0.5)),
        Layer("scores", layer.Dense(CLASSES)),
    ],
    "two_heads": [
        Layer("flat", layer.Flatten()),
        Layer("side", layer.Dense(CLASSES), auxiliary=0.3),
        Layer("scores", layer.Dense(CLASSES), inputs=("flat",)),
    ],
    "convolution": [Layer("conv", layer.Convolution(4, 3, stride=2, padding=1)), *_HEAD],
    "bare_convolution": [Layer("conv", layer.Convolution(4, 3, bias=False)), *_HEAD],
    "grouped": [Layer("conv", layer.Convolution(4, 3, groups=2)), *_HEAD],
    "depthwise": [Layer("conv", layer.Convolution(2, 3, padding=1, groups=2)), *_HEAD],
    "oblong": [Layer("conv", layer.Convolution(4, (1, 3), padding=(0, 1))), *_HEAD],
    "padding": [
        Layer("pad", layer.Padding(0, 1, 0, 1)),
        Layer("conv", layer.Convolution(4, 3, stride=2)),
        *_HEAD,
    ],
    "max_pooling": [Layer("pool", layer.MaxPooling(3, 2)), *_HEAD],
    "max_pooling_padded": [Layer("pool", layer.MaxPooling(3, 2, padding=1)), *_HEAD],
    "max_pooling_ceil": [Layer("pool", layer.MaxPooling(2, 2, ceil=True)), *_HEAD],
    "max_pooling_behind": [Layer("pool", layer.MaxPooling(1, 3, ceil=True)), *_HEAD],
    "average_pooling": [Layer("pool", layer.AveragePooling(3, 1, padding=1)), *_HEAD],
    "average_pooling_ceil": [Layer("pool", layer.AveragePooling(2, 2, ceil=True)), *_HEAD],
    "global_average": [
        Layer("pool", layer.GlobalAveragePooling()),
        Layer("scores", layer.Dense(CLASSES, bias=False)),
    ],
    "rectifier": [Layer("act", layer.Rectifier()), *_HEAD],
    "clipped_rectifier": [Layer("act", layer.ClippedRectifier(0.25)), *_HEAD],
    "tanh": [Layer("act", layer.Tanh()), *_HEAD],
    "response_normalization": [
        Layer("conv", layer.Convolution(7, 1)),
        Layer("norm", layer.LocalResponseNormalization(5, alpha=0.5, beta=0.75, k=2.0)),
        *_HEAD,
    ],
    "unscaled_normalization": [Layer("norm", layer.BatchNormalization(scale=False)), *_HEAD],
    "add": [
        Layer("left", layer.Convolution(2, 3, padding=1)),
        Layer("sum", layer.Add(), inputs=(IMAGE, "left")),
        *_HEAD,
    ],
    "concatenate": [
        Layer("left", layer.Convolution(3, 1)),
        Layer("right", layer.Convolution(2, 3, padding=1), inputs=(IMAGE,)),
        Layer("both", layer.Concatenate(), inputs=("left", "right", IMAGE)),
        *_HEAD,
    ],
    "chain": [
        Layer("conv", layer.Convolution(3, 3)),
        Layer("norm", layer.BatchNormalization()),
        Layer("act", layer.Rectifier()),
        Layer("tanh", layer.Tanh()),
        *_HEAD,
    ],
    "used_twice": [
        Layer("conv", layer.Convolution(2, 3, padding=1)),
        Layer("act", layer.Rectifier()),
        Layer("sum", layer.Add(), inputs=("conv", "act")),
        *_HEAD,
    ],
}


def small_network(name: str) -> Network:
    """The named network, every shape worked out."""
    return assemble(name, SHAPE, LAYERS[name])
