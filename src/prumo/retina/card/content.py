"""The card of an evaluation: its sections in the order in which people ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.retina.card.block import Card, Paragraph, Section
from prumo.retina.card.groups import groups_section
from prumo.retina.card.making import making
from prumo.retina.card.photographs import photographs
from prumo.retina.card.purpose import DECISION_SUPPORT, purpose
from prumo.retina.card.references import references
from prumo.retina.card.results import calibration_section, grades_section, points_section, results
from prumo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.language import Language
    from prumo.retina.card.block import Picture
    from prumo.retina.evaluation.evaluation import Evaluation


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
