"""What a model is for, and what nobody may take it for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.retina.card.block import Points, Section

if TYPE_CHECKING:
    from prumo.report.language import Language
    from prumo.retina.evaluation.evaluation import Evaluation
    from prumo.retina.model.description import ModelDescription

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
