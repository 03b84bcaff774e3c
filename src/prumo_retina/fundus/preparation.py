"""How photographs are prepared, and the verdict on their quality: plain data, no OpenCV."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from prumo.message import Message
from prumo_retina.fundus.choices import (
    DEFAULT_ENHANCEMENT,
    DEFAULT_METHOD,
    DEFAULT_SIZE,
    Enhancement,
    Method,
)

if TYPE_CHECKING:
    from prumo.message import Series


JUDGED_SIZE = 299
"""Quality is judged at this diameter, whatever size is asked for, so that verdicts stay."""


class Part(BaseModel):
    """A part of a document that Prumo writes and reads again: nothing in it is unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Preparation(Part):
    """What decides the pixels of a prepared photograph."""

    format: Literal[1] = 1
    """Goes up when the same settings would give other pixels."""
    size: Annotated[int, Field(ge=16, le=4096)] = DEFAULT_SIZE
    """Side of the square in pixels, which is the fundus's diameter."""
    method: Method = DEFAULT_METHOD
    """How the fundus is found."""
    enhance: Enhancement = DEFAULT_ENHANCEMENT

    @property
    def wanted_pixels(self) -> int:
        """Shorter side that a scaled decode must leave: even half of it holds the whole fundus."""
        return 2 * max(self.size, JUDGED_SIZE)


class Verdict(StrEnum):
    """What is wrong with a photograph, the worst first; `good` when nothing is."""

    MISSING = "missing"
    """A label that fits no photograph, or several."""
    UNREADABLE = "unreadable"
    NO_FUNDUS = "no_fundus"
    TOO_DARK = "too_dark"
    TOO_BRIGHT = "too_bright"
    BLURRED = "blurred"
    NOISY = "noisy"
    CUT_OFF = "cut_off"
    GOOD = "good"

    @property
    def is_gradable(self) -> bool:
        """Whether a model may judge it; all others count as a referral."""
        return self is Verdict.GOOD

    @property
    def label(self) -> Message:
        """In words."""
        return Message(_TITLES[self])


_TITLES = {
    Verdict.MISSING: "no photograph",
    Verdict.UNREADABLE: "unreadable",
    Verdict.NO_FUNDUS: "no fundus found",
    Verdict.TOO_DARK: "too dark",
    Verdict.TOO_BRIGHT: "too bright",
    Verdict.BLURRED: "blurred",
    Verdict.NOISY: "noisy",
    Verdict.CUT_OFF: "cut off",
    Verdict.GOOD: "good",
}


@dataclass(frozen=True)
class Quality:
    """A verdict with its reason in words and figures."""

    verdict: Verdict
    reason: Message | Series | str = ""
