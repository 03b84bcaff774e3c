"""The settings of a training in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.report.language import Language

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
