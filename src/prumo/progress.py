"""What a long job tells while it works: a set-up, a preparation of data, a download, a check."""

from __future__ import annotations

import time
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


_SHOWN_SECONDS = 0.1
_LASTING_SECONDS = 10.0


class Advance:
    """Tells how much of a total is done, and how fast when that says something."""

    def __init__(
        self, job: str, total: int, unit: str, progress: Progress, *, with_rate: bool = False
    ) -> None:
        self._job = job
        self._total = total
        self._unit = unit
        self._progress = progress
        self._with_rate = with_rate
        self._began = self._shown = self._said = time.monotonic()

    def reached(self, done: int) -> None:
        """So much is done by now."""
        now = time.monotonic()
        detail = (
            f"{100 * done // max(1, self._total)} % of {self._total} {self._unit}{self._rate(done)}"
        )
        if now - self._said >= _LASTING_SECONDS:
            self._said = now
            self._progress.say(f"{self._job}: {detail}")
        elif now - self._shown >= _SHOWN_SECONDS:
            self._shown = now
            self._progress.show(self._job, detail)

    def ended(self) -> None:
        """All is done."""
        seconds = time.monotonic() - self._began
        done = f"{self._total} {self._unit} in {seconds:.1f} s{self._rate(self._total)}"
        self._progress.say(f"{self._job}: {done}")

    def _rate(self, done: int) -> str:
        if not self._with_rate:
            return ""
        return f", {done / max(1e-9, time.monotonic() - self._began):.1f} a second"
