"""What a training tells while it goes on, for whoever waits for it."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from prumo.quantity import Quantity

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo.run.journal import Event

_LINES = 10
"""About so many epochs of a training are told for good, so that a log shows life."""
_LEAST_SECONDS_BETWEEN_LINES = 5.0


class TrainingNews:
    """Turns the events of a worker into sentences."""

    def __init__(self, epochs: int, folds: int, progress: Progress) -> None:
        # The last training, on all folds together, takes as long as one of them at most.
        self._epochs_left = epochs * (folds + 1 if folds else 1)
        self._epochs_between_lines = ceil(self._epochs_left / _LINES)
        self._seconds_since_line: list[float] = []
        self._progress = progress
        progress.show("starting TensorFlow")

    def hear(self, event: Event) -> None:
        """Tell what is worth telling; other events pass."""
        kind = event["event"]
        if kind == "ready":
            self._progress.show("preparing the training")
        elif kind == "features":
            self._features(event)
        elif kind == "resumed":
            self._epochs_left -= event["epoch"]
            self._progress.say(f"{event['stage']}: going on after epoch {event['epoch']}")
        elif kind == "epoch":
            self._epoch(event)

    def _features(self, event: Event) -> None:
        computed, wanted = event["computed"], event["to_compute"]
        if "seconds" not in event:
            self._progress.show("computing features", f"{computed} of {wanted}")
        elif computed:
            took = Quantity(event["seconds"], "s")
            self._progress.say(
                f"computed features of {event['photographs']} photographs, "
                f"{' and '.join(event['views'])}, in {took}, kept for other heads"
            )
        else:
            self._progress.say("all features are kept from an earlier training")

    def _epoch(self, event: Event) -> None:
        self._epochs_left -= 1
        figures = [f"loss {_told(event['loss'])}"]
        if "validation_loss" in event:
            figures.append(f"held out {_told(event['validation_loss'])}")
        if "validation_auc" in event:
            figures.append(f"AUC {event['validation_auc']:.3f}")
        # At most: early stops and the last training's fewer epochs are not foreseen.
        left = Quantity(self._epochs_left * event["seconds"], "s")
        detail = f"epoch {event['epoch']} of {event['epochs']}, {', '.join(figures)}, {left} left"
        self._progress.show(f"training ({event['stage']})", detail)
        self._seconds_since_line.append(event["seconds"])
        if self._is_line_due:
            self._progress.say(f"{event['stage']}: {detail}")
            self._seconds_since_line.clear()

    @property
    def _is_line_due(self) -> bool:
        since = self._seconds_since_line
        return (
            len(since) >= self._epochs_between_lines and sum(since) >= _LEAST_SECONDS_BETWEEN_LINES
        )


def _told(loss: float | None) -> str:
    """A journal has nothing for what is not a number."""
    return "not a number" if loss is None else f"{loss:.4f}"
