"""Figures with their intervals in words and digits of a language."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.quantity import MISSING
from prumo_retina.judge.operating_point import BALANCED, HIGH_SENSITIVITY, HIGH_SPECIFICITY

if TYPE_CHECKING:
    from prumo.report.language import Language
    from prumo_serve.estimates import Estimate

_DECIMALS = ".3f"
_POINTS = {
    HIGH_SENSITIVITY: "high sensitivity",
    BALANCED: "balanced",
    HIGH_SPECIFICITY: "high specificity",
}


def told_value(estimate: Estimate | None, language: Language) -> str:
    """Three decimals, or a dash where there is no value."""
    if estimate is None or isnan(estimate.value):
        return MISSING
    return language.formatted(estimate.value, _DECIMALS)


def told_interval(estimate: Estimate | None, language: Language) -> str:
    """Both ends in brackets, or a dash where there is no telling."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return MISSING
    low, high = (language.formatted(end, _DECIMALS) for end in (estimate.low, estimate.high))
    return f"[{low}{language.marks.between}{high}]"


def told_estimate(estimate: Estimate | None, language: Language) -> str:
    """The value and its interval."""
    value, interval = told_value(estimate, language), told_interval(estimate, language)
    return value if interval == MISSING else f"{value} {interval}"


def told_point(name: str, language: Language) -> str:
    """The title of an operating point in a language."""
    return language.told(point_title(name))


def point_title(name: str) -> Message | str:
    """What an operating point is called; its name where it is not one of ours."""
    return Message(_POINTS[name]) if name in _POINTS else name
