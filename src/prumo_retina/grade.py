"""The five grades of diabetic retinopathy, and which of them are sent to a specialist."""

from __future__ import annotations

from enum import IntEnum

GRADE_COUNT = 5
REFERABLE_FROM = 2
"""International clinical scale: moderate retinopathy and worse is referable."""


class Grade(IntEnum):
    """A step of the International Clinical Diabetic Retinopathy scale (Wilkinson 2003)."""

    NONE = 0
    MILD = 1
    MODERATE = 2
    SEVERE = 3
    PROLIFERATIVE = 4

    @property
    def is_referable(self) -> bool:
        """Whether a person with this grade should see a specialist."""
        return self >= REFERABLE_FROM

    @property
    def title(self) -> str:
        """In English; the key of its translations."""
        return _TITLES[self]


_TITLES = {
    Grade.NONE: "no apparent retinopathy",
    Grade.MILD: "mild non-proliferative retinopathy",
    Grade.MODERATE: "moderate non-proliferative retinopathy",
    Grade.SEVERE: "severe non-proliferative retinopathy",
    Grade.PROLIFERATIVE: "proliferative retinopathy",
}
