"""Every text of the page; what stands in braces is filled in by the page itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message
from prumo.retina.fundus.quality import Verdict
from prumo.retina.prediction.urgency import Urgency

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.report.language import Language

_SHARED: Mapping[str, Message] = {
    "drop": Message("Drop photographs here, or"),
    "choose": Message("Choose photographs"),
    "take": Message("Take a photograph"),
    "kinds": Message("JPEG or PNG"),
    "not_stored": Message(
        "Nothing is stored: photographs go to this server, are judged in memory and forgotten. "
        "Closing this page forgets the answers too."
    ),
    "model": Message("Model"),
    "version": Message("version {version}"),
    "language": Message("Language"),
    "progress": Message("{done} of {total} answered"),
    "waiting": Message("waiting"),
    "asking": Message("being judged"),
    "busy": Message("the server is busy; trying again"),
    "probability": Message("Probability"),
    "probabilities": Message("Probabilities"),
    "heat_map": Message("Heat map"),
    "heat_map_loading": Message("Drawing the heat map"),
    "heat_map_failed": Message("The heat map could not be made."),
    "heat_map_of": Message("Heat map of {name}"),
    "heat_map_caption": Message(
        "On the left what the network saw. On the right the same in grey: yellow where the answer "
        "comes from, blue where not."
    ),
    "again": Message("Try again"),
    "again_all": Message("Try all again that have no answer"),
    "remove": Message("Remove"),
    "remove_named": Message("Remove {name}"),
    "clear": Message("Remove all"),
    "print": Message("Print"),
    "save": Message("Save as CSV"),
    "yes": Message("yes"),
    "no": Message("no"),
    "no_answer": Message("no answer"),
    "unreadable": Message("cannot be read"),
    "offline": Message("The server cannot be reached. Is it running, and are you connected?"),
    "late": Message("The server took too long to answer."),
    "overloaded": Message("The server has been too busy for too long."),
    "too_large": Message("The file is larger than the {most} MB that the server takes."),
    "failed": Message("The server answered with an error ({status})."),
    "without_script": Message("This page needs JavaScript, which is switched off here."),
    "loading": Message("The model is being loaded. This page opens by itself in a moment."),
}
_RETINA: Mapping[str, Message] = {
    "title": Message("Photographs of the retina"),
    "caution": Message(
        "Decision support for diabetic retinopathy, not a diagnosis: a health professional "
        "decides. Macular oedema is not judged."
    ),
    "ungradable": Message("A photograph that cannot be judged counts as a referral."),
    "worklist": Message("Worklist, the most urgent first"),
    "grade": Message("Grade"),
    "referral_probability": Message("Probability of a referral"),
    "threat_probability": Message("Severe or proliferative"),
    "threshold": Message("refer from {threshold} on"),
    "threshold_of": Message("refer from {threshold} on ({point})"),
    "quality": Message("Quality"),
    "refer_reason": Message(
        "Referred because the probability of a referral, {probability}, reaches the threshold of "
        "{threshold}, though the most probable single grade would not be referred."
    ),
    "foreign": Message("not a JPEG or PNG photograph"),
}
_PLAIN: Mapping[str, Message] = {
    "title": Message("Images to classify"),
    "caution": Message("The answers come from a model and may be wrong: a person decides."),
    "worklist": Message("Answers"),
}

_COLUMNS = (
    Message("file"),
    Message("quality"),
    Message("reason"),
    Message("grade"),
    Message("grade_title"),
    Message("label"),
    Message("probability"),
    Message("severe_or_proliferative_probability"),
    Message("threshold"),
    Message("refer"),
    Message("urgency"),
    Message("model"),
    Message("model_version"),
)
COLUMNS = tuple(column.text for column in _COLUMNS)
"""Of the table that can be saved; English readers get them as programs know them."""


def page_texts(language: Language, *, is_retina: bool) -> dict[str, str]:
    """Name → text in a language, with the braces still in it."""
    chosen = {**_SHARED, **(_RETINA if is_retina else _PLAIN)}
    return {name: language.say(message.text) for name, message in chosen.items()}


def known_words(language: Language, labels: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Words that answers are made of, by what programs call them, in a language."""
    return {
        "labels": {label: language.say(label) for label in labels},
        "urgencies": {urgency.value: language.say(urgency.label) for urgency in Urgency},
        "verdicts": {verdict.value: language.say(verdict.label) for verdict in Verdict},
    }
