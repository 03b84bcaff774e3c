"""What a pooling sees beyond its image, for frameworks that want it spelt out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prumo_worker.networks.layer import Shape
    from prumo_worker.networks.layer.windows import Pooling

Margin = tuple[int, int]
"""Cells before and behind an image in one direction."""


def margins(pooling: Pooling, image: Shape) -> tuple[Margin, Margin]:
    """Cells that the windows reach above and below, left and right of the image."""
    down, across = (
        _margin(pooling, size, places)
        for size, places in zip(image[1:], pooling.output_shape(image)[1:])
    )
    return down, across


def cells_inside(pooling: Pooling, image: Shape) -> tuple[list[int], list[int]]:
    """For each place of the window, how many of its rows and of its columns are of the image."""
    rows, columns = (
        [_cells(pooling, size, place) for place in range(places)]
        for size, places in zip(image[1:], pooling.output_shape(image)[1:])
    )
    return rows, columns


def rounded_up(pooling: Pooling, image: Shape) -> tuple[int, ...]:
    """The places of a window that hangs over the far edge even where it begins behind the image."""
    rooms = [side + 2 * pooling.padding - pooling.kernel for side in image[1:]]
    return tuple(-(-room // pooling.stride) + 1 for room in rooms)


def _margin(pooling: Pooling, size: int, places: int) -> Margin:
    reach = (places - 1) * pooling.stride + pooling.kernel
    return pooling.padding, max(reach - pooling.padding - size, 0)


def _cells(pooling: Pooling, size: int, place: int) -> int:
    begin = place * pooling.stride - pooling.padding
    return min(begin + pooling.kernel, size) - max(begin, 0)
