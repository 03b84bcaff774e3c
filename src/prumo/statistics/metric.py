"""What is known of a metric: its title, its unit, and which direction is better."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from prumo.message import Message

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
    MONEY = 2
    OWN = 3
    LEARNING = 4
    PROCESS = 5
    USAGE = 6


@dataclass(frozen=True)
class Metric:
    """One figure of a run."""

    name: str
    title: Message | str
    """A text for the catalogue's own metrics; a user's own is called by its name."""
    unit: str = ""
    better: Better = Better.UNKNOWN
    kind: Kind = Kind.OWN
    headline: bool = False
    """Whether a report shows it without being asked."""

    @property
    def is_amount(self) -> bool:
        """Whether it cannot be negative: a time, a size, a rate, a share, money.

        A user's own percentage may be one of a difference, and what has no unit may be anything.
        """
        return self.kind is not Kind.OWN or self.unit not in {"", "%"}

    @property
    def is_share(self) -> bool:
        """Whether it cannot exceed 100 %: of what runs use, all but a sum over cores."""
        return self.kind is Kind.USAGE and self.unit == "%" and self.name != SUM_OVER_CORES


SUM_OVER_CORES = "tree_cpu_percent_mean"

CATALOGUE = (
    Metric("train_seconds", Message("Training time"), "s", Better.LOWER, Kind.SPEED, headline=True),
    Metric(
        "images_per_second",
        Message("Throughput"),
        "images/s",
        Better.HIGHER,
        Kind.SPEED,
        headline=True,
    ),
    Metric("seconds_per_epoch", Message("Time per epoch"), "s", Better.LOWER, Kind.SPEED),
    Metric("step_seconds_median", Message("Median time per step"), "s", Better.LOWER, Kind.SPEED),
    Metric("first_step_seconds", Message("Time of the first step"), "s", Better.LOWER, Kind.SPEED),
    Metric("data_seconds", Message("Time waiting for data"), "s", Better.LOWER, Kind.SPEED),
    Metric("compute_seconds", Message("Time computing"), "s", Better.LOWER, Kind.SPEED),
    # Last of the times: what a run says of itself is nearer to what was asked.
    Metric(
        "wall_seconds",
        Message("Wall time of the process"),
        "s",
        Better.LOWER,
        Kind.SPEED,
        headline=True,
    ),
    Metric("loss", Message("Loss of the last epoch"), "", Better.LOWER, Kind.LEARNING),
    Metric("accuracy", Message("Accuracy of the last epoch"), "", Better.HIGHER, Kind.LEARNING),
    *(
        Metric(f"validation_{name}", title, "", better, Kind.LEARNING)
        for name, title, better in (
            ("loss", Message("Validation loss"), Better.LOWER),
            ("accuracy", Message("Validation accuracy"), Better.HIGHER),
            ("auc", Message("Validation area under the curve"), Better.HIGHER),
            ("sensitivity", Message("Validation sensitivity"), Better.HIGHER),
            ("specificity", Message("Validation specificity"), Better.HIGHER),
            ("kappa", Message("Validation quadratic kappa"), Better.HIGHER),
        )
    ),
    Metric("epochs", Message("Epochs trained"), kind=Kind.LEARNING),
    Metric("best_epoch", Message("Best epoch"), kind=Kind.LEARNING),
    Metric("epochs_to_loss", Message("Epochs until the loss"), "", Better.LOWER, Kind.LEARNING),
    Metric("steps_to_loss", Message("Steps until the loss"), "", Better.LOWER, Kind.LEARNING),
    Metric("seconds_to_loss", Message("Time until the loss"), "s", Better.LOWER, Kind.LEARNING),
    Metric("setup_seconds", Message("Time to set up"), "s", Better.LOWER, Kind.PROCESS),
    Metric("feature_seconds", Message("Time to compute features"), "s", Better.LOWER, Kind.PROCESS),
    Metric("warmup_seconds", Message("Time to warm up"), "s", Better.LOWER, Kind.PROCESS),
    Metric("images", Message("Images trained on"), "images", Better.UNKNOWN, Kind.PROCESS),
    Metric(
        "max_rss_bytes",
        Message("Peak memory of the largest process"),
        "B",
        Better.LOWER,
        Kind.USAGE,
        headline=True,
    ),
    Metric(
        "tree_rss_bytes_max",
        Message("Peak memory of all processes, sampled"),
        "B",
        Better.LOWER,
        Kind.USAGE,
    ),
    Metric("cpu_percent_mean", Message("Machine CPU, mean"), "%", kind=Kind.USAGE, headline=True),
    Metric(
        SUM_OVER_CORES,
        Message("CPU of the run (100 % = one core), mean"),
        "%",
        kind=Kind.USAGE,
    ),
    Metric("memory_percent_mean", Message("Machine memory, mean"), "%", kind=Kind.USAGE),
    Metric("swap_bytes_max", Message("Peak swap of the machine"), "B", Better.LOWER, Kind.USAGE),
    Metric(
        "energy_joules", Message("Processor energy"), "J", Better.LOWER, Kind.USAGE, headline=True
    ),
    Metric("energy_kwh", Message("Energy as counted"), "kWh", Better.LOWER, Kind.USAGE),
    Metric(
        "energy_estimate_kwh",
        Message("Energy, estimated from processor time"),
        "kWh",
        Better.LOWER,
        Kind.USAGE,
    ),
    Metric(
        "co2_grams",
        Message("CO2 of the counted energy"),
        "g",
        Better.LOWER,
        Kind.USAGE,
    ),
    Metric(
        "co2_estimate_grams",
        Message("CO2 of the estimated energy"),
        "g",
        Better.LOWER,
        Kind.USAGE,
    ),
    Metric(
        "steal_percent_mean", Message("CPU stolen by the host, mean"), "%", Better.LOWER, Kind.USAGE
    ),
    Metric(
        "pressure_cpu_percent_mean", Message("CPU pressure, mean"), "%", Better.LOWER, Kind.USAGE
    ),
    Metric(
        "pressure_memory_percent_mean",
        Message("Memory pressure, mean"),
        "%",
        Better.LOWER,
        Kind.USAGE,
    ),
    Metric(
        "pressure_io_percent_mean", Message("I/O pressure, mean"), "%", Better.LOWER, Kind.USAGE
    ),
)
BY_NAME = {metric.name: metric for metric in CATALOGUE}
PLACES = {metric.name: place for place, metric in enumerate(CATALOGUE)}

GPU = re.compile(r"gpu(\d+)_(percent|memory_percent|power_watts)_mean")
GPU_TITLES = {
    "percent": ("GPU {number} use, mean", "%", True),
    "memory_percent": ("GPU {number} memory, mean", "%", False),
    "power_watts": ("GPU {number} power, mean", "W", False),
}
COST = re.compile(r"cost(_per_epoch|_per_1000_images|_per_inference|_to_loss)?_([a-z]{3})")
COST_TITLES = {
    None: "Cost of a run",
    "_per_epoch": "Cost per epoch",
    "_per_1000_images": "Cost per 1,000 images",
    "_per_inference": "Cost per inference",
    "_to_loss": "Cost until the loss",
}
COST_HEADLINES = {None, "_per_inference"}
UNITS = {"_seconds": "s", "_bytes": "B", "_percent": "%", "_joules": "J", "_watts": "W"}

HEADLINES_SHOWN = 6


def metric_of(name: str) -> Metric:
    """What is known of a metric; a user's own has its name as title and no better direction."""
    if name in BY_NAME:
        return BY_NAME[name]
    if gpu := GPU.fullmatch(name):
        title, unit, headline = GPU_TITLES[gpu[2]]
        told = Message(title, {"number": gpu[1]})
        return Metric(name, told, unit, kind=Kind.USAGE, headline=headline)
    if cost := COST.fullmatch(name):
        told = Message(COST_TITLES[cost[1]])
        headline = cost[1] in COST_HEADLINES
        return Metric(name, told, cost[2].upper(), Better.LOWER, Kind.MONEY, headline)
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
