"""Read what a worker said: its journal of JSON lines."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

Event = dict[str, Any]


def read_events(path: Path) -> list[Event]:
    """The events of a journal; lines that are cut or are not events are passed over."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    return [event for event in map(_event, lines) if event]


def events_of(events: Sequence[Event], kind: str) -> list[Event]:
    """The events of one kind, in order."""
    return [event for event in events if event["event"] == kind]


def last_event(events: Sequence[Event], kind: str) -> Event | None:
    """The latest event of a kind."""
    found = events_of(events, kind)
    return found[-1] if found else None


def journal_metrics(events: list[Event]) -> dict[str, float]:
    """The figures in a journal: from its epochs and steps, then what the worker states itself."""
    metrics = _epoch_metrics(events_of(events, "epoch"))
    counted = [event for event in events_of(events, "step") if event.get("epoch") != 0]
    if steps := [event["seconds"] for event in counted if is_number(event.get("seconds"))]:
        metrics["step_seconds_median"] = median(steps)
    for event in events_of(events, "metric"):
        metrics.update(_numbers(event))
    finished = last_event(events, "finished")
    if finished and isinstance(finished.get("metrics"), dict):
        metrics.update(_numbers(finished["metrics"]))
    return metrics


def facts_of(events: list[Event]) -> dict[str, Any]:
    """What a worker says about itself when it is ready, as the fields of a run's record.

    What is not of its kind is left out, as any program may write a journal.
    """
    ready = last_event(events, "ready") or {}
    parts = {
        name: part if isinstance(part := ready.get(name), dict) else {}
        for name in ("versions", "build", "data", "network")
    }
    parts["versions"] = {str(name): str(text) for name, text in parts["versions"].items()}
    return {"device": str(ready.get("device", "")), **parts}


def is_number(value: object) -> bool:
    """Whether a value from JSON is a finite number that a figure can be made of."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def not_finite(events: Sequence[Event]) -> set[str]:
    """The names of figures that were infinite or not a number anywhere in the training."""
    return {
        name
        for event in events
        if event["event"] in {"step", "epoch", "metric"} and event.get("epoch") != 0
        if isinstance(names := event.get("not_finite"), list)
        for name in names
        if isinstance(name, str)
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


def _numbers(values: Event) -> dict[str, float]:
    return {
        name: float(value) for name, value in values.items() if name != "time" and is_number(value)
    }


def _event(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None
