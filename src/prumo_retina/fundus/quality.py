"""Whether a photograph can be judged, and if not, why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from prumo.message import Message

if TYPE_CHECKING:
    from prumo.message import Series


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
