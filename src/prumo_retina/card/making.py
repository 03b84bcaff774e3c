"""How a model came about: network, weights, preparation, training, machine and versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.message import Message
from prumo.quantity import Quantity
from prumo_retina.card.layout import Facts, Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.report.language import Language
    from prumo_retina.evaluation.evaluation import Evaluation
    from prumo_retina.model import ModelDescription


_TITLES = {
    "head": "head",
    "frozen": "backbone frozen",
    "trained_layers": "last layers trained",
    "augment": "photographs varied at random",
    "class_weights": "classes weighted alike",
    "image_size": "side of the photographs in pixels",
    "batch_size": "photographs per step",
    "epochs": "most epochs",
    "patience": "stops after epochs without progress",
    "optimizer": "optimizer",
    "learning_rate": "first learning rate",
    "weight_decay": "weight decay",
    "reduce_epochs": "smaller steps after epochs without progress",
    "precision": "precision",
    "strategy": "sharing of the work",
    "threads": "threads",
    "seed": "seed",
}
_ZEROS = {"trained_layers": "all", "patience": "never", "reduce_epochs": "never"}
# A card has rows of their own for these.
_TOLD_ELSEWHERE = frozenset({"network", "task", "weights", "device"})


def told_parameters(parameters: Mapping[str, object], language: Language) -> str:
    """Each with its title; one that is not known here keeps its name."""
    left_out = set(_TOLD_ELSEWHERE)
    if parameters.get("frozen"):
        left_out.add("trained_layers")
    return "; ".join(
        f"{_title(name, language)}: {_value(name, value, language)}"
        for name, value in parameters.items()
        if value is not None and name not in left_out
    )


def _title(name: str, language: Language) -> str:
    return language.say(_TITLES[name]) if name in _TITLES else name


def _value(name: str, value: object, language: Language) -> str:
    if isinstance(value, bool):
        return language.say("yes" if value else "no")
    if value == 0 and name in _ZEROS:
        return language.say(_ZEROS[name])
    return language.number(value) if isinstance(value, float) else str(value)


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
