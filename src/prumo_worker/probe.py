"""A training script's own voice in the journal; silent when no run listens.

    from prumo_worker import probe

    probe.start()
    for epoch in range(epochs):
        for images, labels in batches:
            loss = …
            probe.step(loss=loss, images=len(images))
        probe.epoch(loss=…, accuracy=…, images=…)
    probe.metric(top5=0.93)

The journal's path comes from the environment variable PRUMO_JOURNAL. Without it every call does
nothing, so that the script also runs alone. Numbers may be of numpy or a framework: they go
through `float()`, which on a GPU waits for the value.

Times are from the end of one call to the beginning of the next, so that the probe's own work is
nobody's. A journal that cannot be written costs one warning, never the training.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from time import perf_counter
from typing import SupportsFloat

from prumo_worker.journal import Journal

_RESERVED = frozenset({"event", "time", "not_finite"})


class Probe:
    """Counts steps and epochs, times them and writes them down."""

    def __init__(self, path: str | None, clock: Callable[[], float] = perf_counter) -> None:
        self._path = path
        self._journal: Journal | None = None
        self._clock = clock
        self._epoch = 1
        self._step = 0
        self._epoch_seconds = 0.0
        self._previous = clock()

    def start(self) -> None:
        """Let the first step begin here instead of at the import of this module."""
        self._epoch_seconds = 0.0
        self._previous = self._clock()

    def step(
        self,
        *,
        loss: SupportsFloat | None = None,
        images: int | None = None,
        seconds: float | None = None,
    ) -> None:
        """One update was made, `seconds` after the last call where the script does not say."""
        span = self._span()
        self._step += 1
        self._write(
            "step",
            epoch=self._epoch,
            step=self._step,
            seconds=span if seconds is None else seconds,
            images=images,
            loss=loss,
        )

    def epoch(
        self,
        *,
        loss: SupportsFloat | None = None,
        accuracy: SupportsFloat | None = None,
        images: int | None = None,
        seconds: float | None = None,
    ) -> None:
        """One pass over the data is done, `seconds` after the one before."""
        self._span()
        self._write(
            "epoch",
            epoch=self._epoch,
            seconds=self._epoch_seconds if seconds is None else seconds,
            images=images,
            loss=loss,
            accuracy=accuracy,
        )
        self._epoch += 1
        self._step = 0
        self._epoch_seconds = 0.0

    def metric(self, **values: SupportsFloat) -> None:
        """Any figures by name; the last value of a name counts."""
        taken = _RESERVED & values.keys()
        if taken:
            raise ValueError(f"a metric cannot be named {', '.join(sorted(taken))}")
        self._span()
        self._write("metric", **values)

    def _span(self) -> float:
        span = self._clock() - self._previous
        self._epoch_seconds += span
        return span

    def _write(self, kind: str, **fields: SupportsFloat | None) -> None:
        if self._path is not None:
            numbers = {name: _number(value) for name, value in fields.items() if value is not None}
            try:
                self._journal = self._journal or Journal(self._path)
                self._journal.event(kind, **numbers)
            except OSError as error:
                reason = f"{self._path}: {error.strerror}"
                sys.stderr.write(f"prumo_worker.probe: {reason}; nothing more is recorded\n")
                self._path = None
        self._previous = self._clock()


def _number(value: SupportsFloat) -> int | float:
    return value if type(value) is int else float(value)


_probe = Probe(os.environ.get("PRUMO_JOURNAL"))
start = _probe.start
step = _probe.step
epoch = _probe.epoch
metric = _probe.metric
