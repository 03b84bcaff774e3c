"""The card of an evaluation: its sections in the order in which people ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.version import __version__
from prumo_retina.card.groups import groups_section
from prumo_retina.card.layout import Card, Paragraph, Points, Section, Table
from prumo_retina.card.making import making
from prumo_retina.card.photographs import photographs
from prumo_retina.card.results import calibration_section, grades_section, points_section, results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.language import Language
    from prumo_retina.card.layout import Picture
    from prumo_retina.evaluation.evaluation import Evaluation
    from prumo_retina.model import ModelDescription


DECISION_SUPPORT = Message("It is decision support and no diagnosis: a person decides.")
_OEDEMA = Message(
    "It does not judge macular oedema, nor glaucoma, occlusions or any other disease of the eye. A "
    "photograph that is not referred may still show one."
)
_UNGRADABLE = Message(
    "A photograph that cannot be judged (unreadable, no fundus found, too dark, too bright, noisy, "
    "blurred, cut off) counts as a referral."
)
_ELSEWHERE = Message(
    "Figures hold for cameras, people and grading like those that it was judged on. In another "
    "hospital they are as a rule worse: judge it there on photographs with known grades before "
    "relying on it, and choose thresholds there."
)
_ONE_READING = Message(
    "The true grades are what graders wrote; where graders differ, so would these figures."
)
_NO_SIMPLE_USE = Message(
    "It knows photographs only as its own preparation makes them. Prumo refuses others, and so "
    "should whoever uses the network without Prumo."
)


def purpose(evaluation: Evaluation, language: Language) -> Section:
    """Use and limits, most of which are the same for every model of this kind."""
    told = (
        _use(evaluation.model.description),
        DECISION_SUPPORT,
        _OEDEMA,
        _UNGRADABLE,
        _ELSEWHERE,
        _ONE_READING,
        _NO_SIMPLE_USE,
    )
    return Section(
        language.say("Intended use and limits"),
        (Points(tuple(language.say(message) for message in told)),),
    )


def _use(description: ModelDescription) -> Message:
    if description.task == "grade":
        return Message(
            "For screening people with diabetes: it grades diabetic retinopathy in colour "
            "photographs of the fundus from 0 to 4 and says who should see a specialist (moderate "
            "retinopathy or worse)."
        )
    return Message(
        "For screening people with diabetes: it says from a colour photograph of the fundus "
        "whether a person should see a specialist (moderate diabetic retinopathy or worse). It "
        "tells no grade."
    )


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


def card(evaluation: Evaluation, pictures: Sequence[Picture], language: Language) -> Card:
    """All that is known of a model, told in a language."""
    lead = Message("Diabetic retinopathy in photographs of the fundus.")
    footer = Message(
        "Made by Prumo {version} on {day} from the evaluation “{name}”.",
        {"version": __version__, "day": evaluation.made[:10], "name": evaluation.name},
    )
    sections = [
        purpose(evaluation, language),
        results(evaluation, language),
        points_section(evaluation, language),
        grades_section(evaluation, language),
        calibration_section(evaluation, language),
        groups_section(evaluation, language),
        photographs(evaluation, language),
        making(evaluation, language),
        references(language),
    ]
    if pictures:
        sections.insert(4, _heat_maps(evaluation, pictures, language))
    return Card(
        tag=language.tag,
        kind=language.say("model card"),
        title=evaluation.model.description.name,
        lead=f"{language.say(lead)} {language.say(DECISION_SUPPORT)}",
        sections=tuple(sections),
        footer=language.say(footer),
    )


def _heat_maps(evaluation: Evaluation, pictures: Sequence[Picture], language: Language) -> Section:
    explained = Message(
        "Grad-CAM (Selvaraju et al. 2017), on the left the photograph, on the right the same under "
        "colours: bright yellow spoke most for a referral, dark blue least; where all is blue, "
        "nothing did. Each is scaled by itself, so it tells where and not how "
        "much, and never whether the network was right."
    )
    told = [explained]
    if evaluation.is_out_of_fold:
        told.append(
            Message(
                "They are of the network that is delivered, which has learnt from these "
                "photographs; the probabilities are of networks that had not."
            )
        )
    paragraph = Paragraph(" ".join(map(language.say, told)))
    return Section(language.say("Heat maps"), (paragraph, *pictures))
