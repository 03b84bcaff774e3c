"""Read what a worker said: its journal of JSON lines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

Event = dict[str, Any]


def read_events(path: Path) -> list[Event]:
    """The events of a journal; lines that are cut or are not events are passed over."""
    return list(_events(path))


def events_of(events: list[Event], kind: str) -> list[Event]:
    """The events of one kind, in order."""
    return [event for event in events if event["event"] == kind]


def last_event(events: list[Event], kind: str) -> Event | None:
    """The latest event of a kind."""
    found = events_of(events, kind)
    return found[-1] if found else None


def journal_metrics(events: list[Event]) -> dict[str, float]:
    """The figures in a journal: from its epochs and steps, then what the worker states itself."""
    metrics = _epoch_metrics(events_of(events, "epoch"))
    steps = [event["seconds"] for event in events_of(events, "step") if _is_counted_step(event)]
    if steps:
        metrics["step_seconds_median"] = median(steps)
    for event in events_of(events, "metric"):
        metrics.update(_numbers(event))
    finished = last_event(events, "finished")
    if finished and isinstance(finished.get("metrics"), dict):
        metrics.update(_numbers(finished["metrics"]))
    return metrics


@dataclass(frozen=True)
class Facts:
    """What a worker says about itself when it is ready."""

    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    build: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    network: dict[str, Any] = field(default_factory=dict)


def facts_of(events: list[Event]) -> Facts:
    """The facts in a journal; what is not of its kind is left out, as any program may write one."""
    ready = last_event(events, "ready") or {}
    return Facts(
        device=str(ready.get("device", "")),
        versions={str(name): str(text) for name, text in _mapping(ready, "versions").items()},
        build=_mapping(ready, "build"),
        data=_mapping(ready, "data"),
        network=_mapping(ready, "network"),
    )


def is_number(value: object) -> bool:
    """Whether a value from JSON is a finite number that a figure can be made of."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def not_finite(events: list[Event]) -> set[str]:
    """The names of figures that were infinite or not a number anywhere in the training."""
    return {
        name
        for event in events
        if event["event"] in {"step", "epoch", "metric"} and event.get("epoch") != 0
        for name in _names(event.get("not_finite"))
    }


class GrowingJournal:
    """A journal that is still being written; each byte is read once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def news(self) -> list[Event]:
        """The events since the last look; a line that is not whole yet waits for the next."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                whole, end, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self._offset += len(whole) + len(end)
        return [event for event in map(_event, whole.split(b"\n")) if event]


class EpochCounter:
    """Counts the epochs in a growing journal."""

    def __init__(self, path: Path) -> None:
        self._journal = GrowingJournal(path)
        self.epochs = 0

    def has_progressed(self) -> bool:
        """Read what is new; whether an epoch has ended since the last look."""
        ended = len(events_of(self._journal.news(), "epoch"))
        self.epochs += ended
        return ended > 0


def _epoch_metrics(epochs: list[Event]) -> dict[str, float]:
    if not epochs:
        return {}
    metrics: dict[str, float] = {}
    seconds = [event["seconds"] for event in epochs if is_number(event.get("seconds"))]
    images = [event["images"] for event in epochs if is_number(event.get("images"))]
    if seconds:
        metrics["train_seconds"] = sum(seconds)
        metrics["seconds_per_epoch"] = sum(seconds) / len(seconds)
    if images:
        metrics["images"] = sum(images)
    if seconds and len(images) == len(seconds) and sum(seconds) > 0:
        metrics["images_per_second"] = sum(images) / sum(seconds)
    for name in ("loss", "accuracy"):
        if is_number(epochs[-1].get(name)):
            metrics[name] = epochs[-1][name]
    return metrics


def _mapping(event: Event, name: str) -> dict[str, Any]:
    value = event.get(name)
    return value if isinstance(value, dict) else {}


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _is_counted_step(event: Event) -> bool:
    return event.get("epoch") != 0 and is_number(event.get("seconds"))


def _numbers(values: Event) -> dict[str, float]:
    return {
        name: float(value) for name, value in values.items() if name != "time" and is_number(value)
    }


def _events(path: Path) -> Iterator[Event]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            event = _event(line)
            if event:
                yield event


def _event(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None
