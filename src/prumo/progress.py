"""What a long job tells while it works: a set-up, a preparation of data, a download, a check."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Whoever wants to know how a job goes."""

    def say(self, text: str) -> None:
        """Something worth keeping on the screen."""

    def show(self, text: str, detail: str = "") -> None:
        """What is happening now; the next one takes its place.

        `detail` says how far it is and changes often: for whoever can overwrite it.
        """


class Silent:
    """A listener that nobody reads."""

    def say(self, text: str) -> None:
        """Drop it."""

    def show(self, text: str, detail: str = "") -> None:
        """Drop it."""
