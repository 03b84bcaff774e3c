"""What an execution reports while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.results.record import RunRecord
    from prumo.study import Run


@dataclass(frozen=True)
class StudyStarted:
    """The runs still missing are about to be started."""

    study: str
    results: Path
    kept: int
    """Runs of this plan that already have a verdict and are not run again."""
    pending: tuple[Run, ...]
    """The runs known to be missing; an adaptive study may add more."""
    seconds: dict[str, list[float]]
    """Scenario → how long its earlier runs took, or one will by the forecast: a first guess."""


@dataclass(frozen=True)
class Remark:
    """Something a user should know: a corrupt record set aside, an environment being made."""

    text: str


@dataclass(frozen=True)
class Activity:
    """What is being done this moment, such as a step of a set-up; the next one replaces it."""

    text: str
    detail: str = ""
    """How far it is; changes often."""


@dataclass(frozen=True)
class RunStarted:
    """A run begins."""

    run: Run


@dataclass(frozen=True)
class RunProgress:
    """A run goes on: the number of epochs it has ended, of how many."""

    run: Run
    epochs_done: int
    epochs: int | None


@dataclass(frozen=True)
class RunEnded:
    """A run has its verdict."""

    record: RunRecord


@dataclass(frozen=True)
class StudyEnded:
    """Nothing is left to do, or the user stopped."""

    results: Path
    verdicts: dict[str, int]
    """How many runs of the plan have which verdict, earlier ones counted in."""
    interrupted: bool


Event = StudyStarted | Remark | Activity | RunStarted | RunProgress | RunEnded | StudyEnded
Listener = Callable[[Event], None]


class ListenerProgress:
    """Passes progress on to whoever listens to the study."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def say(self, text: str) -> None:
        """Report it as a remark."""
        self._listener(Remark(text))

    def show(self, text: str, detail: str = "") -> None:
        """Report it as an activity."""
        self._listener(Activity(text, detail))
