"""How a long job reports its progress: a set-up, a preparation of data, a download, a check."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """Receives what a long job reports.

    Every such job takes one: the terminal's (`prumo.cli.console`), the listener of a study's
    events (`prumo.run.events.ListenerProgress`), the server's log, or `SILENT`.
    """

    def say(self, text: str) -> None:
        """Report something worth keeping on the screen."""

    def show(self, text: str, detail: str = "") -> None:
        """Report what is happening now; the next report takes its place.

        `detail` says how far it is and changes often: for a display that can overwrite it.
        """


class Silent:
    """Progress that nobody reads."""

    def say(self, text: str) -> None:
        """Drop it."""

    def show(self, text: str, detail: str = "") -> None:
        """Drop it."""


SILENT = Silent()


class LineProgress:
    """Progress in lines that stay, as in a log: each activity once, without its details.

    >>> progress = LineProgress(print, indent="  ")
    >>> progress.show("reading", "10 %")
      reading
    >>> progress.show("reading", "20 %")
    >>> progress.say("read 12 files")
    read 12 files
    """

    def __init__(self, write: Callable[[str], None], indent: str = "") -> None:
        self._write = write
        self._indent = indent
        self._shown = ""

    def say(self, text: str) -> None:
        """Write it."""
        self._write(text)

    def show(self, text: str, detail: str = "") -> None:
        """Write it once, indented."""
        del detail
        if text != self._shown:
            self._write(f"{self._indent}{text}")
        self._shown = text


_SHOWN_SECONDS = 0.1
_LASTING_SECONDS = 10.0


class ProgressCounter:
    """Reports how much of a total is done, and how fast where that is of interest.

    What is done is shown up to ten times a second, and every ten seconds it is kept.
    """

    def __init__(
        self, job: str, total: int, unit: str, progress: Progress, *, with_rate: bool = False
    ) -> None:
        self._job = job
        self._total = total
        self._unit = unit
        self._progress = progress
        self._with_rate = with_rate
        self._began = self._shown = self._said = time.monotonic()

    def update(self, done: int) -> None:
        """Report that so much is done by now."""
        now = time.monotonic()
        percent = 100 * done // max(1, self._total)
        detail = f"{percent} % of {self._total} {self._unit}{self._rate(done)}"
        if now - self._said >= _LASTING_SECONDS:
            self._said = now
            self._progress.say(f"{self._job}: {detail}")
        elif now - self._shown >= _SHOWN_SECONDS:
            self._shown = now
            self._progress.show(self._job, detail)

    def finish(self) -> None:
        """Report that all is done."""
        seconds = time.monotonic() - self._began
        done = f"{self._total} {self._unit} in {seconds:.1f} s{self._rate(self._total)}"
        self._progress.say(f"{self._job}: {done}")

    def _rate(self, done: int) -> str:
        if not self._with_rate:
            return ""
        return f", {done / max(1e-9, time.monotonic() - self._began):.1f} a second"
