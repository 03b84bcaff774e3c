"""The pattern of VGG networks: blocks of convolutions, then dense layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.layer import Convolution, Dense, Dropout, Flatten, MaxPooling, Rectifier
from prumo_worker.networks.network import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def vgg_layers(
    blocks: Sequence[Sequence[int]], hidden: Sequence[int], classes: int, dropout: float = 0.0
) -> Iterator[Layer]:
    """The convolutions, then dense layers of the given widths, each with dropout if any."""
    yield from vgg_convolutions(blocks)
    yield Layer("flatten", Flatten())
    for position, width in enumerate(hidden, start=1):
        yield Layer(f"dense{position}", Dense(width))
        yield Layer(f"dense_relu{position}", Rectifier())
        if dropout:
            yield Layer(f"dropout{position}", Dropout(dropout))
    yield Layer("scores", Dense(classes))


def vgg_convolutions(blocks: Sequence[Sequence[int]]) -> Iterator[Layer]:
    """3x3 convolutions of the given widths, a 2x2 pooling after each block."""
    for block, widths in enumerate(blocks, start=1):
        for position, width in enumerate(widths, start=1):
            yield Layer(f"conv{block}_{position}", Convolution(width, kernel=3, padding=1))
            yield Layer(f"relu{block}_{position}", Rectifier())
        yield Layer(f"pool{block}", MaxPooling(kernel=2, stride=2))
