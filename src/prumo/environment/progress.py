"""What a set-up tells while it works."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Whoever wants to know how a set-up goes."""

    def say(self, text: str) -> None:
        """Something worth keeping on the screen."""

    def show(self, text: str) -> None:
        """What is happening now; the next one takes its place."""


class Silent:
    """A listener that nobody reads."""

    def say(self, text: str) -> None:
        """Drop it."""

    def show(self, text: str) -> None:
        """Drop it."""
