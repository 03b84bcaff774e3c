"""The journal: one JSON object per line, and the metrics that a training ends with."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Journal:
    """Appends events to a file, each line whole.

    Strict JSON has no word for NaN or infinity. Such a number is written as `null` and its field
    is named in the event's `not_finite` list, with dots for nesting:

        {"event": "step", "time": 1.0, "loss": null, "not_finite": ["loss"]}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def event(self, event: str, /, **fields: Any) -> None:  # noqa: ANN401 (any JSON value)
        """Write one event, stamped with the present time."""
        self.events(event, [fields])

    def events(self, event: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write many events of one name at once; a row may bring a `time` of its own."""
        now = time.time()
        lines = [_line({"event": event, "time": now, **row}) for row in rows]
        remaining = "".join(lines).encode()
        while remaining:
            remaining = remaining[os.write(self._descriptor, remaining) :]

    def close(self) -> None:
        """Give the file back."""
        os.close(self._descriptor)


def _line(event: dict[str, Any]) -> str:
    not_finite: list[str] = []
    clean = _finite(event, "", not_finite)
    if not_finite:
        clean["not_finite"] = not_finite
    return json.dumps(clean, allow_nan=False) + "\n"


def _finite(value: Any, place: str, not_finite: list[str]) -> Any:  # noqa: ANN401 (any JSON value)
    """The value with null for every number that JSON cannot write; names where they stood."""
    if isinstance(value, float) and not math.isfinite(value):
        not_finite.append(place)
        return None
    if isinstance(value, dict):
        prefix = f"{place}." if place else ""
        return {key: _finite(item, f"{prefix}{key}", not_finite) for key, item in value.items()}
    return value


class Step(NamedTuple):
    """What one step of a training took and gave."""

    data_seconds: float
    """How long its batch took to come."""
    compute_seconds: float
    images: int
    loss: float

    @property
    def seconds(self) -> float:
        """Waiting for data and computing together."""
        return self.data_seconds + self.compute_seconds


def step_rows(steps: Iterable[Step], **shared: object) -> list[dict[str, Any]]:
    """The fields of `step` events, with what all of them share."""
    return [
        {**shared, "step": number, "seconds": step.seconds, **step._asdict()}
        for number, step in enumerate(steps, start=1)
    ]


def summed(steps: Sequence[Step], right: int) -> dict[str, float]:
    """The figures of an epoch, of which so many images were classified right.

    The loss is the mean over all images, each weighed with the weights its batch met.
    """
    images = sum(step.images for step in steps)
    return {
        "data_seconds": sum(step.data_seconds for step in steps),
        "compute_seconds": sum(step.compute_seconds for step in steps),
        "images": images,
        "loss": sum(step.loss * step.images for step in steps) / images,
        "accuracy": right / images,
    }


_EPOCH_METRICS = (
    "train_seconds",
    "seconds_per_epoch",
    "step_seconds_median",
    "data_seconds",
    "compute_seconds",
    "images",
    "images_per_second",
    "loss",
    "accuracy",
)
TRAINING_METRICS = ("setup_seconds", "warmup_seconds", "first_step_seconds", *_EPOCH_METRICS)
RETINA_METRICS = (
    *("setup_seconds", "feature_seconds", "warmup_seconds", *_EPOCH_METRICS),
    *("epochs", "best_epoch", "validation_loss", "validation_accuracy"),
)
"""Those of a training on fundus photographs; more where both classes were validated."""
