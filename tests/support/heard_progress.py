"""A listener to the progress of long work that remembers what it was told."""

from __future__ import annotations


class Heard:
    """The lasting lines, and what was shown in passing."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.shown: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def show(self, text: str, detail: str = "") -> None:
        del detail
        self.shown.append(text)
