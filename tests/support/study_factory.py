"""Small studies for tests, as a notebook would make them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Protocol

from prumo.study import Study, StudyError

TRAINING: dict[str, Any] = {
    "name": "small",
    "workload": {"kind": "training"},
    "factors": {"network": ["rede1", "lenet5"], "batch_size": [32, 128]},
}
COMMAND: dict[str, Any] = {
    "name": "small",
    "workload": {"kind": "command", "command": ["echo", "{a}", "{b}"]},
    "factors": {"a": [1, 2, 3], "b": ["x", "y"]},
}


class StudyMaker(Protocol):
    """Makes a study, with some of its sections replaced."""

    def __call__(self, **sections: Any) -> Study: ...


class Refusal(Protocol):
    """Loads a text as a study file, and gives the error that it must cause."""

    def __call__(self, text: str) -> StudyError: ...


def training_study(**sections: Any) -> Study:
    return Study.from_dict(deepcopy(TRAINING) | sections)


def command_study(**sections: Any) -> Study:
    return Study.from_dict(deepcopy(COMMAND) | sections)
