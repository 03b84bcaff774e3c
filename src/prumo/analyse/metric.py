"""What is known of a metric: its title, its unit, and which direction is better."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Better(StrEnum):
    """Which direction of a metric is better; unknown for what a user's program reports."""

    LOWER = "lower"
    HIGHER = "higher"
    UNKNOWN = "unknown"


class Kind(IntEnum):
    """What a metric is about, in the order in which a reader asks."""

    SPEED = 1
    OWN = 2
    LEARNING = 3
    PROCESS = 4
    USAGE = 5


@dataclass(frozen=True)
class Metric:
    """One figure of a run."""

    name: str
    title: str
    unit: str = ""
    better: Better = Better.UNKNOWN
    kind: Kind = Kind.OWN
    headline: bool = False
    """Whether a report shows it without being asked."""


CATALOGUE = (
    Metric("train_seconds", "Training time", "s", Better.LOWER, Kind.SPEED, headline=True),
    Metric("images_per_second", "Throughput", "images/s", Better.HIGHER, Kind.SPEED, headline=True),
    Metric("seconds_per_epoch", "Time per epoch", "s", Better.LOWER, Kind.SPEED),
    Metric("step_seconds_median", "Median time per step", "s", Better.LOWER, Kind.SPEED),
    Metric("first_step_seconds", "Time of the first step", "s", Better.LOWER, Kind.SPEED),
    Metric("data_seconds", "Time waiting for data", "s", Better.LOWER, Kind.SPEED),
    Metric("compute_seconds", "Time computing", "s", Better.LOWER, Kind.SPEED),
    # Last of the times: what a run says of itself is nearer to what was asked.
    Metric(
        "wall_seconds", "Wall time of the process", "s", Better.LOWER, Kind.SPEED, headline=True
    ),
    Metric("loss", "Loss of the last epoch", "", Better.LOWER, Kind.LEARNING),
    Metric("accuracy", "Accuracy of the last epoch", "", Better.HIGHER, Kind.LEARNING),
    Metric("setup_seconds", "Time to set up", "s", Better.LOWER, Kind.PROCESS),
    Metric("warmup_seconds", "Time to warm up", "s", Better.LOWER, Kind.PROCESS),
    Metric("images", "Images trained on", "images", Better.UNKNOWN, Kind.PROCESS),
    Metric(
        "max_rss_bytes",
        "Peak memory of the largest process",
        "B",
        Better.LOWER,
        Kind.USAGE,
        headline=True,
    ),
    Metric(
        "tree_rss_bytes_max", "Peak memory of all processes, sampled", "B", Better.LOWER, Kind.USAGE
    ),
    Metric("cpu_percent_mean", "Machine CPU, mean", "%", kind=Kind.USAGE, headline=True),
    Metric(
        "tree_cpu_percent_mean", "CPU of the run (100 % = one core), mean", "%", kind=Kind.USAGE
    ),
    Metric("memory_percent_mean", "Machine memory, mean", "%", kind=Kind.USAGE),
    Metric("swap_bytes_max", "Peak swap of the machine", "B", Better.LOWER, Kind.USAGE),
    Metric("energy_joules", "Processor energy", "J", Better.LOWER, Kind.USAGE, headline=True),
    Metric("steal_percent_mean", "CPU stolen by the host, mean", "%", Better.LOWER, Kind.USAGE),
    Metric("pressure_cpu_percent_mean", "CPU pressure, mean", "%", Better.LOWER, Kind.USAGE),
    Metric("pressure_memory_percent_mean", "Memory pressure, mean", "%", Better.LOWER, Kind.USAGE),
    Metric("pressure_io_percent_mean", "I/O pressure, mean", "%", Better.LOWER, Kind.USAGE),
)
BY_NAME = {metric.name: metric for metric in CATALOGUE}
PLACES = {metric.name: place for place, metric in enumerate(CATALOGUE)}

GPU = re.compile(r"gpu(\d+)_(percent|memory_percent|power_watts)_mean")
GPU_TITLES = {
    "percent": ("GPU {} use, mean", "%", True),
    "memory_percent": ("GPU {} memory, mean", "%", False),
    "power_watts": ("GPU {} power, mean", "W", False),
}
UNITS = {"_seconds": "s", "_bytes": "B", "_percent": "%", "_joules": "J", "_watts": "W"}

HEADLINES_SHOWN = 6


def metric_of(name: str) -> Metric:
    """What is known of a metric; a user's own has its name as title and no better direction."""
    if name in BY_NAME:
        return BY_NAME[name]
    if gpu := GPU.fullmatch(name):
        title, unit, headline = GPU_TITLES[gpu[2]]
        return Metric(name, title.format(gpu[1]), unit, kind=Kind.USAGE, headline=headline)
    unit = next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "")
    return Metric(name, name, unit, headline=True)


def in_reading_order(names: Iterable[str]) -> list[str]:
    """Names with the metric that matters most first; a user's own keep their order."""

    def place(name: str) -> tuple[int, int]:
        return metric_of(name).kind, PLACES.get(name, len(PLACES))

    return sorted(names, key=place)


def headlines(names: Iterable[str]) -> list[str]:
    """The metrics that a report shows without being asked, the main one first."""
    ordered = in_reading_order(names)
    chosen = [name for name in ordered if metric_of(name).headline] or ordered
    return chosen[:HEADLINES_SHOWN]
