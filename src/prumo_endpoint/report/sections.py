"""The sections of a report about requests: money, latency, time line, tail, rates, memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import polars as pl
from rich.text import Text

from prumo.message import Message
from prumo.quantity import MISSING
from prumo.report.figures.scenarios import boxes_figures
from prumo.report.label import levels_label
from prumo.report.sections.section import FigureSection, PageSection, Section, TextTable
from prumo_endpoint.load.calibration import FIRST_RATE
from prumo_endpoint.load.request_table import (
    NOT_COUNTED,
    PERCENTILES,
    RATE,
    percentile,
    ramp_phase,
    requests_needed,
)
from prumo_endpoint.report.cloudwatch import CloudWatchSection
from prumo_endpoint.report.figures import (
    REQUEST_BOXES,
    tail_figures,
    timeline_figures,
)
from prumo_endpoint.report.memory import memory_figures
from prumo_endpoint.report.money import TrafficSection
from prumo_endpoint.report.rates import Goal, rate_figures
from prumo_endpoint.report.requests import requests_of
from prumo_endpoint.report.table import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results

LATENCY = "latency_seconds"
REMARK = Message(
    "n < {p90}: not enough requests for this percentile.", {"p90": requests_needed(0.9)}
)


@dataclass(frozen=True)
class RequestsSection(Section):
    """What sections about requests share."""

    sent: pl.DataFrame
    """All of all runs."""
    goal: Goal
    """Of ramps."""

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The requests of a report's runs."""
        goals = {record.parameters.get("goal_seconds") for record in results.records}
        kept = {
            record.run: rate
            for record in results.records
            if (rate := record.metrics.get("highest_rate"))
        }
        return cls(
            report, requests_of(results), Goal(goals.pop() if len(goals) == 1 else None, kept)
        )

    @property
    def tried(self) -> pl.DataFrame:
        """Those that count, of finished runs, at every rate of a ramp."""
        if not self.sent.height:
            return self.sent
        return self.sent.filter(
            ~pl.col("phase").is_in(NOT_COUNTED), pl.col("verdict") == "finished"
        )

    @property
    def requests(self) -> pl.DataFrame:
        """Those that count; of a ramp those at the rate that it found, as in its metrics."""
        if not self.sent.height:
            return self.sent
        phases = {run: ramp_phase(rate) for run, rate in self.goal.kept_rates.items()}
        found = pl.col("run").replace_strict(phases, default=None, return_dtype=pl.String)
        is_rate = pl.col("phase").str.starts_with(RATE)
        return self.tried.filter(found.is_null() | ~is_rate | (pl.col("phase") == found))

    @property
    def answered(self) -> pl.DataFrame:
        """Those that have a latency."""
        if not self.sent.height:
            return self.sent
        return self.requests.filter(pl.col("outcome") == "answered")


@dataclass(frozen=True)
class LatencySection(RequestsSection):
    """How long answers take: boxes, and a table of percentiles."""

    name = "latency"

    def figures(self, language: Language, /) -> list[Figure]:
        """A box per scenario, over its requests."""
        if not self.answered.height:
            return []
        varying = self.report.varying
        return boxes_figures(self.answered, varying, LATENCY, language, REQUEST_BOXES)

    def table(self, language: Language) -> TextTable:
        """A row per scenario; percentiles only with the requests that they need."""
        rows = []
        for (scenario,), requests in self.requests.group_by("scenario", maintain_order=True):
            answered = requests.filter(pl.col("outcome") == "answered")
            latencies = answered[LATENCY].to_list()
            cells = [
                language.quantity(sum(latencies) / len(latencies), "s") if latencies else MISSING
            ]
            for share in PERCENTILES.values():
                value = percentile(latencies, share)
                too_few = f"n < {requests_needed(share)}"
                cells.append(too_few if value is None else language.quantity(value, "s"))
            levels = levels_label(requests.row(0, named=True), self.report.varying)
            failed = requests.height - answered.height
            rows.append((str(scenario), levels, str(answered.height), str(failed), *cells))
        heads = language.each("scenario", "levels", "answered", "failed", "mean")
        return TextTable(
            self.name,
            language.say("Latency of requests"),
            (*heads, *PERCENTILES),
            tuple(rows),
            words=2,
        )

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The boxes and the table."""
        if not self.requests.height:
            return None
        values = {"table": self.table(language), "remarks": [REMARK]}
        return PageSection(self.name, language.say("Latency of requests"), "table", values)

    def print(self, console: Console, language: Language, /) -> None:
        """The table."""
        if not self.requests.height:
            return
        content = self.table(language)
        print_table(content, console)
        if any("n <" in cell for row in content.rows for cell in row):
            console.print(Text(language.say(REMARK)))

    def tables(self, language: Language, /) -> list[TextTable]:
        """The same for documents."""
        return [self.table(language)] if self.requests.height else []

    def document(self, _language: Language, /) -> dict[str, Any]:
        """Percentiles by scenario; null where there are too few requests."""
        if not self.requests.height:
            return {}
        return {
            "latency": {
                str(scenario): {
                    name: percentile(answered[LATENCY].to_list(), share)
                    for name, share in PERCENTILES.items()
                }
                for (scenario,), answered in self.answered.group_by("scenario", maintain_order=True)
            }
        }

    def frames(self) -> dict[str, pl.DataFrame]:
        """All requests, one row each."""
        return {"requests": self.sent} if self.sent.height else {}


class TimelineSection(RequestsSection, FigureSection):
    """When requests were sent and how long each took."""

    name = "timeline"

    def figures(self, language: Language, /) -> list[Figure]:
        """A point per request."""
        answered = (
            self.tried.filter(pl.col("outcome") == "answered") if self.sent.height else self.sent
        )
        return timeline_figures(answered, self.report.varying, language)


class TailSection(RequestsSection, FigureSection):
    """The slowest answers."""

    name = "tail"

    def figures(self, language: Language, /) -> list[Figure]:
        """A line per scenario, as far as its number of requests reaches."""
        return tail_figures(self.answered, self.report.varying, language)


class RateSection(RequestsSection, FigureSection):
    """How latency grows with the rate of requests."""

    name = "rate"

    def figures(self, language: Language, /) -> list[Figure]:
        """A line per scenario over the rates that were offered."""
        return rate_figures(self.tried, self.report.varying, self.goal, language)


@dataclass(frozen=True)
class MemorySection(FigureSection):
    """Time and cost against the memory of an instance."""

    name = "memory"
    memory_mb: dict[str, int]
    """By scenario."""

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The memory that each scenario's runs had."""
        found = {
            record.scenario: int(record.parameters["memory_mb"])
            for record in results.records
            if record.parameters.get("memory_mb")
        }
        return cls(report, found)

    def figures(self, language: Language, /) -> list[Figure]:
        """Both over the memory, with the cheapest, the fastest and the balanced one marked."""
        return memory_figures(self.report, self.memory_mb, language)


@dataclass(frozen=True)
class GeneratorSection(Section):
    """How far the load generator can be trusted: the worst of all runs."""

    name = "generator"

    @property
    def worst(self) -> dict[str, float]:
        """By name; empty where no run has measured its generator."""
        runs = self.report.finished
        if "generator_lateness_p99_seconds" not in runs.columns or not runs.height:
            return {}
        worst = {name: max(runs[f"generator_{name}"]) for name in _GENERATOR}
        worst[_HELD_RATE] = min(runs[f"generator_{_HELD_RATE}"])
        if "lateness_share" in runs.columns:
            worst["lateness_share"] = max(runs["lateness_share"].drop_nulls())
        return worst

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """A sentence for each figure."""
        worst = self.worst
        if not worst:
            return None
        remarks = [
            Message(
                "Before each run the load generator was measured on a server that answers at "
                "once: it sent at most {late} late (p99) and took {cpu} of a processor for a "
                "request; it held {rate} requests/s.",
                {
                    "late": language.quantity(worst["lateness_p99_seconds"], "s"),
                    "cpu": language.quantity(worst["cpu_seconds_per_request"], "s"),
                    "rate": _held(worst[_HELD_RATE], language),
                },
            ),
            Message(
                "On a server with a known wait it measured {error} more than that wait on average.",
                {"error": language.quantity(worst["wait_error_seconds"], "s")},
            ),
        ]
        if "lateness_share" in worst:
            remarks.append(
                Message(
                    "In the runs themselves its lateness was at most {share} of the latency.",
                    {"share": language.share(worst["lateness_share"])},
                )
            )
        title = language.say("The load generator")
        return PageSection(self.name, title, "table", {"table": None, "remarks": remarks})

    def print(self, console: Console, language: Language, /) -> None:
        """One line."""
        if not (worst := self.worst):
            return
        sentence = Message(
            "Load generator: at most {late} late (p99); it held {rate} requests/s.",
            {
                "late": language.quantity(worst["lateness_p99_seconds"], "s"),
                "rate": _held(worst[_HELD_RATE], language),
            },
        )
        console.print(Text(language.say(sentence)))

    def document(self, _language: Language, /) -> dict[str, Any]:
        """The figures by name."""
        return {"load_generator": self.worst} if self.worst else {}


def _held(rate: float, language: Language) -> str:
    return language.number(rate) if rate else f"< {language.number(FIRST_RATE)}"


_GENERATOR = ("lateness_p99_seconds", "cpu_seconds_per_request", "wait_error_seconds")
_HELD_RATE = "honest_requests_per_second"

SECTIONS = (
    TrafficSection,
    LatencySection,
    MemorySection,
    RateSection,
    TimelineSection,
    TailSection,
    CloudWatchSection,
    GeneratorSection,
)
