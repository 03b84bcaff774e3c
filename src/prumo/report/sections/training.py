"""What happened inside of trainings: how soon they learn, and where the time of a step goes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message, Series, listed
from prumo.quantity import Quantity
from prumo.report.figures.curves import loss_figures
from prumo.report.figures.profiles import profiles_figures
from prumo.report.label import SEPARATOR, estimate_in, levels_label, metric_title
from prumo.report.sections.scenarios import cell
from prumo.report.sections.section import PageSection, Section
from prumo.results.record import Verdict
from prumo.statistics.training import (
    FEWEST_STEPS,
    OperationKind,
    convergences,
    losses_of,
    scenario_profile,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.run_files import Profile
    from prumo.results.tables import Results
    from prumo.statistics.training import Convergence, Losses, ScenarioProfile

SHOWN_OPERATIONS = 10


@dataclass(frozen=True)
class LossSection(Section):
    """How soon scenarios learn."""

    name = "loss"
    losses: Losses
    convergences: list[Convergence]

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The losses of all epochs and steps."""
        losses = losses_of(results.epochs(), results.steps())
        found = convergences(report.runs, results.factors, losses, report.confidence)
        return cls(report, losses, found)

    def figures(self, language: Language, /) -> list[Figure]:
        """The loss over time."""
        return loss_figures(self.losses, self.report.finished, self.report.varying, language)

    def page(self, figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The figure, and a table for every task that several scenarios learn."""
        varying = self.report.varying
        tables = [_convergence_table(found, varying, language) for found in self.convergences]
        if not figures and not tables:
            return None
        title = language.say("Loss during training")
        return PageSection(self.name, title, "loss", {"tables": tables})

    def document(self, _language: Language, /) -> dict[str, Any]:
        """When every scenario reached the loss that all have in common."""
        return {
            "convergence": [
                {**vars(found), "summary": found.summary.rows(named=True)}
                for found in self.convergences
            ]
        }


def _convergence_table(
    found: Convergence, varying: Sequence[str], language: Language
) -> dict[str, Any]:
    metrics = found.summary["metric"].unique(maintain_order=True).to_list()
    rows = []
    for (scenario,), group in found.summary.group_by("scenario", maintain_order=True):
        means = {row["metric"]: row for row in group.iter_rows(named=True)}
        levels = levels_label(next(iter(means.values())), varying)
        cells = [cell(means.get(metric), language) for metric in metrics]
        rows.append((scenario, levels, cells))
    task = SEPARATOR.join(map(str, found.task.values()))
    return {
        "title": Message(
            "Until a loss of {target}: {task}" if task else "Until a loss of {target}",
            {"target": Quantity(found.target), "task": task},
        ),
        "heads": [language.told(metric_title(metric)) for metric in metrics],
        "rows": rows,
        "remarks": convergence_sentences(found),
    }


@dataclass(frozen=True)
class ProfilesSection(Section):
    """Where the time of a step goes, for scenarios that were profiled."""

    name = "profiles"
    profiles: list[ScenarioProfile]
    unprofiled: dict[str, list[str]]
    """Why a profiler that was asked for gave nothing → the scenarios where it did not."""

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The profiles of finished runs: what a failed run did says nothing of the rest."""
        found = results.profiles()
        by_scenario: dict[str, list[Profile]] = {}
        for record in results.records:
            if record.run in found and record.verdict is Verdict.FINISHED:
                by_scenario.setdefault(record.scenario, []).append(found[record.run])
        profiles = [scenario_profile(name, several) for name, several in by_scenario.items()]
        reasons: dict[str, list[str]] = {}
        for scenario, several in by_scenario.items():
            for reason in dict.fromkeys(profile.reason for profile in several if profile.reason):
                reasons.setdefault(reason, []).append(scenario)
        return cls(report, [profile for profile in profiles if profile is not None], reasons)

    def with_levels(self) -> list[tuple[ScenarioProfile, str]]:
        """Every scenario that was profiled, with its levels."""
        levels = {
            row["scenario"]: levels_label(row, self.report.varying)
            for row in self.report.runs.iter_rows(named=True)
        }
        return [(profile, levels[profile.scenario]) for profile in self.profiles]

    def missing(self) -> list[Message]:
        """Why scenarios have no profile although one was asked for, in sentences."""
        return [
            Message(
                "No profile of {scenarios}: {reason}.",
                {"scenarios": Series(tuple(scenarios)), "reason": reason},
            )
            for reason, scenarios in self.unprofiled.items()
        ]

    def figures(self, language: Language, /) -> list[Figure]:
        """The shares of each kind of operation."""
        return profiles_figures(self.profiles, self.report.runs, self.report.varying, language)

    def page(self, figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The figure, the shares, and the longest operations of each scenario."""
        profiles, missing = self.with_levels(), self.missing()
        if not profiles and not missing:
            return None
        title = figures[0].title if figures else language.say("Operations of a step")
        values = {"profiles": profiles, "shown": SHOWN_OPERATIONS, "missing_profiles": missing}
        return PageSection(self.name, title, "profiles", values)

    def print(self, console: Console, language: Language, /) -> None:
        """The shares of all scenarios at a glance."""
        if profiles := self.with_levels():
            console.print()
            console.print(_terminal_table(profiles, language))
        for sentence in self.missing():
            console.print()
            console.print(Text(language.say(sentence)))

    def document(self, _language: Language, /) -> dict[str, Any]:
        """Every operation of every profile."""
        return {
            "profiles": [asdict(profile) for profile in self.profiles],
            "unprofiled": [
                {"reason": reason, "scenarios": scenarios}
                for reason, scenarios in self.unprofiled.items()
            ],
        }


def _terminal_table(profiles: list[tuple[ScenarioProfile, str]], language: Language) -> Table:
    """The shares of all scenarios at a glance."""
    title = Text(language.say("Where the time of a step goes, by the framework's own profiler"))
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in (language.say("scenario"), language.say("levels")):
        table.add_column(head)
    for kind in OperationKind:
        table.add_column(language.say(kind.value), justify="right")
    table.add_column(language.say("longest operation"))
    for profile, levels in profiles:
        shares = map(language.share, profile.shares.values())
        longest = profile.operations[0]
        told = f"{longest.operation} ({language.share(longest.share)})"
        table.add_row(profile.scenario, Text(levels), *shares, Text(told))
    return table


REMARKS = {
    "never": "Never down to that loss: {names}.",
    "sometimes": "Down to that loss in some runs only, and the means are of those: {names}.",
    "short": "Left out, since a run of fewer than {steps} steps tells too little: {names}.",
    "silent": "Left out, since no loss was reported: {names}.",
}


def convergence_sentences(convergence: Convergence) -> list[Message]:
    """Who reaches the common loss first and last by each measure, who never does or is left out."""
    remarks = [
        Message(REMARKS[kind], {"steps": FEWEST_STEPS, "names": listed(scenarios)})
        for kind in REMARKS
        if (scenarios := getattr(convergence, kind))
    ]
    return [*_ends(convergence), *remarks]


def _ends(convergence: Convergence) -> Iterator[Message]:
    summary = convergence.summary
    for name in summary["metric"].unique(maintain_order=True):
        rows = summary.filter(pl.col("metric") == name).sort("mean", maintain_order=True)
        least, most = rows.row(0, named=True), rows.row(-1, named=True)
        yield Message(
            "{metric}: from {least} ({first}) to {most} ({last}).",
            {
                "metric": metric_title(name),
                "least": estimate_in(least),
                "first": least["scenario"],
                "most": estimate_in(most),
                "last": most["scenario"],
            },
        )
