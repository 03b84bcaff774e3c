"""What every operation has: shapes, arrays and work, and the errors for those that do not fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from sys import float_info
from typing import Union

Shape = tuple[int, ...]
"""`(channels, height, width)` of an image or `(features,)` of a vector, without the batch."""

Extent = Union[int, tuple[int, int]]
"""A size in pixels, the same in both directions or as `(height, width)`."""


class NetworkError(ValueError):
    """A network that does not exist, is not well made or does not fit its image."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position
        """Which layer is at fault, counted from 0, where one is."""


@dataclass(frozen=True)
class Operation:
    """What a layer computes; as it stands, element by element and without weights."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """The shape that comes out, or a NetworkError when the inputs do not fit."""
        return single(inputs)

    def weight_shapes(self, *inputs: Shape) -> dict[str, Shape]:
        """The trained arrays by name, in the layout of `weights.py`."""
        del inputs
        return {}

    def state_shapes(self, *inputs: Shape) -> dict[str, Shape]:
        """The arrays that training carries along without gradients."""
        del inputs
        return {}

    def multiply_accumulates(self, *inputs: Shape) -> int:
        """Multiplications with a following addition, forward, for one image."""
        del inputs
        return 0


def describe(shape: Shape) -> str:
    """A shape in words for a person: 3x32x32."""
    return "x".join(map(str, shape))


def pair(extent: Extent) -> tuple[int, int]:
    """Height and width of an extent."""
    return (extent, extent) if isinstance(extent, int) else extent


def single(inputs: tuple[Shape, ...]) -> Shape:
    """The only input of an operation that takes one."""
    if len(inputs) != 1:
        raise NetworkError(f"takes one input, not {len(inputs)}")
    return inputs[0]


def image(inputs: tuple[Shape, ...]) -> tuple[int, int, int]:
    """Channels, height and width of the only input."""
    shape = single(inputs)
    try:
        channels, height, width = shape
    except ValueError:
        raise NetworkError("needs an image as its input") from None
    return channels, height, width


def features(inputs: tuple[Shape, ...]) -> int:
    """The length of the only input, a vector."""
    shape = single(inputs)
    try:
        (length,) = shape
    except ValueError:
        raise NetworkError("needs a vector as its input: flatten first") from None
    return length


def above_zero(**given: float) -> None:
    """Refuse what is not a finite number of more than 0."""
    for name, number in given.items():
        if not 0 < number <= float_info.max:
            raise NetworkError(f"{name} must be a finite number of more than 0, not {number!r}")


def not_negative(**given: float) -> None:
    """Refuse what is not a finite number of 0 or more."""
    for name, number in given.items():
        if not 0 <= number <= float_info.max:
            raise NetworkError(f"{name} must be a finite number of 0 or more, not {number!r}")


def at_least(least: int, **given: Extent) -> None:
    """Refuse sizes below `least`, and what is no whole number."""
    for name, extent in given.items():
        sizes = extent if isinstance(extent, tuple) else (extent, extent)
        whole = all(isinstance(size, int) and not isinstance(size, bool) for size in sizes)
        if len(sizes) != 2 or not whole or min(sizes) < least:  # noqa: PLR2004 (height and width)
            raise NetworkError(f"{name} must be a whole number of {least} or more, not {extent!r}")


def hint(word: str, known: Iterable[str]) -> str:
    """What was perhaps meant, or all there is when nothing is near.

    >>> hint("convolutoin", ["convolution", "dense"])
    "did you mean 'convolution'?"
    """
    choices = list(known)
    near = get_close_matches(word, choices, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(choices)}"
