"""What is known of a metric: its unit, what it is about, and which direction is better."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum


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
    Metric("train_seconds", "s", Better.LOWER, Kind.SPEED, headline=True),
    Metric("images_per_second", "images/s", Better.HIGHER, Kind.SPEED, headline=True),
    Metric("seconds_per_epoch", "s", Better.LOWER, Kind.SPEED),
    Metric("step_seconds_median", "s", Better.LOWER, Kind.SPEED),
    Metric("first_step_seconds", "s", Better.LOWER, Kind.SPEED),
    Metric("data_seconds", "s", Better.LOWER, Kind.SPEED),
    Metric("compute_seconds", "s", Better.LOWER, Kind.SPEED),
    # Of requests to an endpoint.
    Metric("latency_seconds", "s", Better.LOWER, Kind.SPEED, headline=True),
    Metric("cold_latency_seconds", "s", Better.LOWER, Kind.SPEED, headline=True),
    Metric("warm_latency_seconds", "s", Better.LOWER, Kind.SPEED),
    *(
        Metric(f"latency_{name}_seconds", "s", Better.LOWER, Kind.SPEED, headline=name == "p95")
        for name in ("p50", "p90", "p95", "p99", "max")
    ),
    Metric("answers_per_second", "answers/s", Better.HIGHER, Kind.SPEED, headline=True),
    Metric("highest_rate", "requests/s", Better.HIGHER, Kind.SPEED, headline=True),
    *(
        Metric(f"{name}_seconds", "s", Better.LOWER, Kind.SPEED)
        for name in ("queue", "decode", "preprocess", "predict")
    ),
    # As CloudWatch measures them.
    Metric("model_latency_seconds", "s", Better.LOWER, Kind.SPEED),
    Metric("overhead_latency_seconds", "s", Better.LOWER, Kind.SPEED),
    Metric("model_setup_seconds", "s", Better.LOWER, Kind.SPEED),
    # Last of the times: what a run says of itself is nearer to what was asked.
    Metric("wall_seconds", "s", Better.LOWER, Kind.SPEED, headline=True),
    Metric("loss", "", Better.LOWER, Kind.LEARNING),
    Metric("accuracy", "", Better.HIGHER, Kind.LEARNING),
    *(
        Metric(f"validation_{name}", "", better, Kind.LEARNING)
        for name, better in (
            ("loss", Better.LOWER),
            ("accuracy", Better.HIGHER),
            ("auc", Better.HIGHER),
            ("sensitivity", Better.HIGHER),
            ("specificity", Better.HIGHER),
            ("kappa", Better.HIGHER),
        )
    ),
    Metric("epochs", kind=Kind.LEARNING),
    Metric("best_epoch", kind=Kind.LEARNING),
    Metric("epochs_to_loss", "", Better.LOWER, Kind.LEARNING),
    Metric("steps_to_loss", "", Better.LOWER, Kind.LEARNING),
    Metric("seconds_to_loss", "s", Better.LOWER, Kind.LEARNING),
    Metric("setup_seconds", "s", Better.LOWER, Kind.PROCESS),
    Metric("feature_seconds", "s", Better.LOWER, Kind.PROCESS),
    Metric("warmup_seconds", "s", Better.LOWER, Kind.PROCESS),
    Metric("images", "images", Better.UNKNOWN, Kind.PROCESS),
    Metric("billed_seconds", "s", Better.LOWER, Kind.PROCESS),
    Metric("requests", kind=Kind.PROCESS),
    Metric("failed_requests", "", Better.LOWER, Kind.PROCESS),
    Metric("inferences", kind=Kind.PROCESS),
    Metric("data_bytes", "B", kind=Kind.PROCESS),
    Metric("model_bytes", "B", Better.LOWER, Kind.PROCESS),
    Metric("cold_answers", kind=Kind.PROCESS),
    Metric("warm_answers", kind=Kind.PROCESS),
    Metric("cloudwatch_missing", "", Better.LOWER, Kind.PROCESS),
    Metric("predicted_cold_answers", kind=Kind.PROCESS),
    Metric("pings", kind=Kind.PROCESS),
    Metric("cold_pings", kind=Kind.PROCESS),
    Metric("offered_per_second", "requests/s", kind=Kind.PROCESS),
    Metric("lateness_share", "", Better.LOWER, Kind.PROCESS),
    Metric("max_rss_bytes", "B", Better.LOWER, Kind.USAGE, headline=True),
    Metric("user_seconds", "s", Better.LOWER, Kind.USAGE),
    Metric("system_seconds", "s", Better.LOWER, Kind.USAGE),
    Metric("tree_rss_bytes_max", "B", Better.LOWER, Kind.USAGE),
    Metric("cpu_percent_mean", "%", kind=Kind.USAGE, headline=True),
    Metric(SUM_OVER_CORES, "%", kind=Kind.USAGE),
    Metric("memory_percent_mean", "%", kind=Kind.USAGE),
    Metric("swap_bytes_max", "B", Better.LOWER, Kind.USAGE),
    Metric("energy_joules", "J", Better.LOWER, Kind.USAGE, headline=True),
    Metric("energy_kwh", "kWh", Better.LOWER, Kind.USAGE),
    Metric("energy_estimate_kwh", "kWh", Better.LOWER, Kind.USAGE),
    Metric("co2_grams", "g", Better.LOWER, Kind.USAGE),
    Metric("co2_estimate_grams", "g", Better.LOWER, Kind.USAGE),
    Metric("steal_percent_mean", "%", Better.LOWER, Kind.USAGE),
    Metric("pressure_cpu_percent_mean", "%", Better.LOWER, Kind.USAGE),
    Metric("pressure_memory_percent_mean", "%", Better.LOWER, Kind.USAGE),
    Metric("pressure_io_percent_mean", "%", Better.LOWER, Kind.USAGE),
)
BY_NAME = {metric.name: metric for metric in CATALOGUE}
PLACES = {metric.name: place for place, metric in enumerate(CATALOGUE)}

GPU = re.compile(r"gpu(\d+)_(percent|memory_percent|power_watts)_mean")
GPU_UNITS = {"percent": "%", "memory_percent": "%", "power_watts": "W"}
COST = re.compile(r"cost(_per_epoch|_per_1000_images|_per_inference|_to_loss)?_([a-z]{3})")
COST_HEADLINES = {None, "_per_inference"}
UNITS = {"_seconds": "s", "_bytes": "B", "_percent": "%", "_joules": "J", "_watts": "W"}

GENERATOR = "generator_"
"""Begins what a load generator measured of itself."""
HEADLINES_SHOWN = 6


def metric_of(name: str) -> Metric:
    """What is known of a metric; of a user's own, only the unit that its name ends in."""
    if name in BY_NAME:
        return BY_NAME[name]
    if gpu := GPU.fullmatch(name):
        return Metric(name, GPU_UNITS[gpu[2]], kind=Kind.USAGE, headline=gpu[2] == "percent")
    if cost := COST.fullmatch(name):
        headline = cost[1] in COST_HEADLINES
        return Metric(name, cost[2].upper(), Better.LOWER, Kind.MONEY, headline)
    if name.startswith(GENERATOR):
        return replace(
            metric_of(name.removeprefix(GENERATOR)), name=name, kind=Kind.PROCESS, headline=False
        )
    unit = next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "")
    return Metric(name, unit, headline=True)


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
