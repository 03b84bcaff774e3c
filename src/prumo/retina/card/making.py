"""How a model came about: network, weights, preparation, training, machine and versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.message import Message
from prumo.quantity import Quantity
from prumo.retina.card.block import Facts, Section
from prumo.retina.card.parameters import told_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.report.language import Language
    from prumo.retina.evaluation.evaluation import Evaluation
    from prumo.retina.model.description import ModelDescription

_TASKS = {"referral": "referral (yes or no)", "grade": "five grades"}
_ENHANCEMENTS = {
    "none": "not enhanced",
    "graham": "enhanced after Graham (2015)",
    "clahe": "enhanced by local contrast (CLAHE)",
}


def making(evaluation: Evaluation, language: Language) -> Section:
    """What is known of it; what a training did not note is not shown."""
    description = evaluation.model.description
    pairs = (*_model(description, language), *_training(description.training, language))
    shown = tuple((name, told) for name, told in pairs if told)
    return Section(language.say("How it was made"), (Facts(shown),))


def _model(description: ModelDescription, language: Language) -> Iterator[tuple[str, str]]:
    preparation, normalization = description.preparation, description.normalization
    prepared = Message(
        "fundus found by “{method}”, {size} pixels across, {enhancement}",
        {
            "method": preparation.method,
            "size": preparation.size,
            "enhancement": Message(_ENHANCEMENTS[preparation.enhance]),
        },
    )
    normalized = Message(
        "(pixel - offset) / scale with offset {offset}, scale {scale}, channels {channels}; it is "
        "inside the network",
        {
            "offset": _numbers(normalization.offset, language),
            "scale": _numbers(normalization.scale, language),
            "channels": normalization.channels.upper(),
        },
    )
    scratch = Message("random: nothing was learnt before this training")
    yield language.say("model"), description.name
    yield language.say("created"), description.created
    yield language.say("network"), description.network
    yield language.say("task"), language.say(_TASKS[description.task])
    yield (
        language.say("first weights"),
        language.say(scratch) if description.weights == "scratch" else description.weights,
    )
    yield language.say("preparation"), language.say(prepared)
    yield language.say("normalization"), language.say(normalized)
    yield language.say("SHA-256 of the network"), description.network_sha256


def _training(training: dict[str, Any], language: Language) -> Iterator[tuple[str, str]]:
    """From what a training noted, in whatever order."""
    if (seconds := training.get("seconds")) is not None:
        yield language.say("training time"), language.told(Quantity(float(seconds), "s"))
    yield language.say("device"), _joined(training.get("device"), training.get("machine"))
    if epochs := training.get("epochs"):
        told = Message(
            "{epochs}, the best was number {best}",
            {"epochs": epochs, "best": training.get("best_epoch")},
        )
        yield (
            language.say("epochs"),
            language.say(told) if training.get("best_epoch") else str(epochs),
        )
    yield language.say("parameters"), told_parameters(training.get("parameters") or {}, language)
    yield language.say("versions"), _named(training.get("versions"))


def _joined(*parts: object) -> str:
    return ", ".join(str(part) for part in parts if part)


def _named(values: object) -> str:
    if not isinstance(values, dict):
        return ""
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)


def _numbers(values: tuple[float, ...], language: Language) -> str:
    told = [language.number(value) for value in dict.fromkeys(values)]
    return told[0] if len(told) == 1 else "; ".join(map(language.number, values))
