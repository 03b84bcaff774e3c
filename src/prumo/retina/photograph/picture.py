"""The pixels of a photograph: how many may be held, and how many are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.message import Message

if TYPE_CHECKING:
    from PIL import Image

MOST_PIXELS = 105_000_000
"""As many as the largest camera backs give; more are an attack, or no photograph of one eye."""
LEAST_SIDE_PIXELS = 32
REDUCTIONS = (8, 4, 2, 1)
"""What libjpeg can decode to directly."""


@dataclass(frozen=True)
class Photograph:
    """Upright and in colour, perhaps smaller than it was taken."""

    pixels: np.ndarray
    """RGB, uint8, (row, column, channel)."""
    width: int
    """Of the whole photograph in pixels, as is the height."""
    height: int
    scale: float = 1.0
    """A length in `pixels` divided by the same length in the whole photograph."""
    laterality: str = ""
    """`L` or `R` when the file says which eye it is."""
    camera: str = ""
    """Maker and model when the file says them."""
    notes: tuple[Message, ...] = ()
    """What a reader should know, such as that only the first page was read."""


class UnreadableError(Exception):
    """Why a file cannot be read; whoever asked for it knows which one it is."""

    def __init__(self, reason: Message) -> None:
        super().__init__(reason)
        self.reason = reason


def reduction(width: int, height: int, wanted_pixels: int) -> int:
    """By how much a photograph may be reduced so that the shorter side is as long as wanted.

    >>> reduction(4288, 2848, 598)
    4
    """
    shorter = min(width, height)
    return next((by for by in REDUCTIONS if reduced(shorter, by) >= wanted_pixels), 1)


def reduced(pixels: int, by: int) -> int:
    """The length of a side afterwards: a last pixel that is not whole counts."""
    return -(-pixels // by)


def check_size(width: int, height: int, held_pixels: int) -> None:
    """Refuse, before anything is decoded, what is no photograph or would fill the memory."""
    size = {"width": width, "height": height}
    if min(width, height) < LEAST_SIDE_PIXELS:
        raise UnreadableError(
            Message(
                "has {width} by {height} pixels: a photograph has at least {least} a side",
                {**size, "least": LEAST_SIDE_PIXELS},
            )
        )
    if held_pixels > MOST_PIXELS:
        raise UnreadableError(
            Message(
                "has {width} by {height} pixels: more than the {most} million that are decoded at "
                "once",
                {**size, "most": MOST_PIXELS // 1_000_000},
            )
        )


def photograph_of(colour: Image.Image, wanted_pixels: int) -> Photograph:
    """A decoded image as a photograph, reduced by averages as a JPEG is."""
    by = reduction(*colour.size, wanted_pixels)
    pixels = np.array(colour.reduce(by) if by > 1 else colour)
    return Photograph(pixels, *colour.size, scale=1 / by)
