"""The pattern that Rede 1 and Rede 2 share: blocks of convolutions, then dense layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.layer import Convolution, Dense, Flatten, MaxPooling, Rectifier
from prumo_worker.networks.network import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def vgg_layers(
    blocks: Sequence[Sequence[int]], hidden: Sequence[int], classes: int
) -> Iterator[Layer]:
    """3x3 convolutions of the given widths, a 2x2 pooling after each block, then dense layers."""
    for block, widths in enumerate(blocks, start=1):
        for position, width in enumerate(widths, start=1):
            yield Layer(f"conv{block}_{position}", Convolution(width, kernel=3, padding=1))
            yield Layer(f"relu{block}_{position}", Rectifier())
        yield Layer(f"pool{block}", MaxPooling(kernel=2, stride=2))
    yield Layer("flatten", Flatten())
    for position, width in enumerate(hidden, start=1):
        yield Layer(f"dense{position}", Dense(width))
        yield Layer(f"dense_relu{position}", Rectifier())
    yield Layer("scores", Dense(classes))
