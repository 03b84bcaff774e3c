"""What others have reported, for a sense of scale: other photographs, other graders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.retina.card.block import Paragraph, Section, Table

if TYPE_CHECKING:
    from prumo.report.language import Language

_WARNING = Message(
    "Other models on other data sets with other graders: context, not a comparison. A figure above "
    "or below one of these proves nothing."
)
# Source and data set → what it reports, with decimals of the language that it is told in.
_REPORTED: tuple[tuple[str, str, Message], ...] = (
    (
        "Gulshan et al. 2016, JAMA",
        "EyePACS-1",
        Message(
            "area {area:.2f}; sensitivity {sensitivity:.1f} %, specificity {specificity:.1f} % at "
            "the high-sensitivity point",
            {"area": 0.99, "sensitivity": 97.5, "specificity": 93.4},
        ),
    ),
    (
        "Voets et al. 2019, PLoS ONE",
        "EyePACS, Messidor-2",
        Message(
            "area {area:.3f} on photographs of the training's source, {elsewhere:.3f} elsewhere",
            {"area": 0.951, "elsewhere": 0.853},
        ),
    ),
    (
        "Abràmoff et al. 2018, npj Digital Medicine",
        "IDx-DR",
        Message(
            "sensitivity {sensitivity:.1f} %, specificity {specificity:.1f} %; required were "
            "{least_sensitivity:.1f} % and {least_specificity:.1f} %",
            {
                "sensitivity": 87.2,
                "specificity": 90.7,
                "least_sensitivity": 85.0,
                "least_specificity": 82.5,
            },
        ),
    ),
    (
        "Krause et al. 2018, Ophthalmology",
        "EyePACS-2",
        Message(
            "quadratic kappa of single specialists {low:.2f} to {high:.2f}",
            {"low": 0.82, "high": 0.91},
        ),
    ),
)


def references(language: Language) -> Section:
    """Figures from the literature, under a warning."""
    heads = (
        language.say("source"),
        language.say("data set or device"),
        language.say("reported"),
    )
    rows = tuple((source, data, language.say(told)) for source, data, told in _REPORTED)
    return Section(
        language.say("Elsewhere, on other photographs"),
        (Paragraph(language.say(_WARNING)), Table(heads, rows, words=3)),
    )
