"""What came of checking a rule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prumo.quantity import Quantity


class Verdict(StrEnum):
    """Whether a server keeps a rule."""

    KEPT = "pass"
    BROKEN = "fail"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Outcome:
    """A verdict, why, and what was measured for it."""

    verdict: Verdict
    reason: str
    measured: Quantity | None = None
    hinders: bool = False
    """Whether the rules that build on this one cannot be checked now."""
    hindered_by: str = ""
    """The rule because of which this one was not checked."""


def kept(reason: str, measured: Quantity | None = None) -> Outcome:
    """The server keeps the rule."""
    return Outcome(Verdict.KEPT, reason, measured)


def broken(reason: str, measured: Quantity | None = None) -> Outcome:
    """The server breaks the rule."""
    return Outcome(Verdict.BROKEN, reason, measured, hinders=True)


def not_checked(reason: str) -> Outcome:
    """The rule does not concern this server, or cannot be seen from outside."""
    return Outcome(Verdict.NOT_CHECKED, reason)


def undecided(reason: str) -> Outcome:
    """The rule could not be checked, and so those that build on it cannot either."""
    return Outcome(Verdict.NOT_CHECKED, reason, hinders=True)
