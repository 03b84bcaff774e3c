"""How a metric goes with the sizes of a study, as rows of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.analyse.scaling import Law
from prumo.message import Message, Series
from prumo.report.label import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.analyse.scaling import ScalingFit
    from prumo.report.language import Language

DIGITS = 3
LAWS = {
    Law.POWER: Message("a power of it"),
    Law.LINE: Message("a line"),
    Law.SHARED: Message("a fixed part and one shared out"),
}


def scaling_rows(fits: Sequence[ScalingFit], language: Language) -> list[dict[str, str]]:
    """A row per size and combination of the other factors."""
    return [
        {
            "factor": fit.factor,
            "levels": SEPARATOR.join(map(str, fit.within.values())),
            "law": language.told(
                Series((LAWS[fit.law], *(LAWS[law] for law in fit.rivals)), " / ")
            ),
            "exponent": language.number(fit.exponent.value, DIGITS),
            "interval": f"[{language.number(fit.exponent.low, DIGITS)}{language.marks.between}"
            f"{language.number(fit.exponent.high, DIGITS)}]",
            "error": f"{language.number(fit.error_percent, DIGITS)} %",
        }
        for fit in fits
    ]


def scaling_document(fit: ScalingFit) -> dict[str, Any]:
    """The same as plain values, for programs."""
    return {
        "metric": fit.metric,
        "factor": fit.factor,
        "within": dict(fit.within),
        "law": fit.law.value,
        "rivals": [law.value for law in fit.rivals],
        "start": [fit.start.value, fit.start.low, fit.start.high],
        "slope": [fit.slope.value, fit.slope.low, fit.slope.high],
        "exponent": [fit.exponent.value, fit.exponent.low, fit.exponent.high],
        "error_percent": fit.error_percent,
        "levels": list(fit.levels),
        "means": list(fit.means),
    }
