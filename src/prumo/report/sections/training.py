"""What happened inside of trainings: how soon they learn, and where the time of a step goes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message, Series, listed
from prumo.quantity import Estimate, Quantity
from prumo.report.figures.curves import loss_figure
from prumo.report.figures.profiles import profiles_figure
from prumo.report.label import SEPARATOR, levels_label, metric_title
from prumo.report.sections.scenarios import Cell, cell
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
    report: Report
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
        report = self.report
        figure = loss_figure(self.losses, report.finished, report.varying, language)
        return [] if figure is None else [figure]

    def page(self, figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The figure, and a table for every task that several scenarios learn."""
        varying = self.report.varying
        tables = [_convergence_table(found, varying, language) for found in self.convergences]
        if not figures and not tables:
            return None
        values = {"figure": figures[0] if figures else None, "tables": tables}
        return PageSection(self.name, language.say("Loss during training"), "loss", values)

    def document(self, _language: Language, /) -> dict[str, Any]:
        """When every scenario reached the loss that all have in common."""
        return {"convergence": [_convergence_document(found) for found in self.convergences]}


def _convergence_document(found: Convergence) -> dict[str, Any]:
    return {
        "task": dict(found.task),
        "target": found.target,
        "summary": found.summary.rows(named=True),
        "never": list(found.never),
        "sometimes": list(found.sometimes),
        "short": list(found.short),
        "silent": list(found.silent),
    }


def _convergence_table(
    found: Convergence, varying: Sequence[str], language: Language
) -> ConvergenceTable:
    metrics = found.summary["metric"].unique(maintain_order=True).to_list()
    rows = []
    for (scenario,), group in found.summary.group_by("scenario", maintain_order=True):
        means = {row["metric"]: row for row in group.iter_rows(named=True)}
        levels = levels_label(next(iter(means.values())), varying)
        cells = [cell(means.get(metric), language) for metric in metrics]
        rows.append(ConvergenceRow(str(scenario), levels, cells))
    return ConvergenceTable(
        title=_title(found),
        heads=[language.told(metric_title(metric)) for metric in metrics],
        rows=rows,
        remarks=convergence_sentences(found),
    )


def _title(found: Convergence) -> Message:
    target = Quantity(found.target)
    if not found.task:
        return Message("Until a loss of {target}", {"target": target})
    task = SEPARATOR.join(map(str, found.task.values()))
    return Message("Until a loss of {target}: {task}", {"target": target, "task": task})


@dataclass(frozen=True)
class ProfilesSection(Section):
    """Where the time of a step goes, for scenarios that were profiled."""

    name = "profiles"
    report: Report
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

    def rows(self, language: Language) -> list[ProfileTable]:
        """A table for every scenario that was profiled."""
        levels = {
            row["scenario"]: levels_label(row, self.report.varying)
            for row in self.report.runs.iter_rows(named=True)
        }
        return [
            _profile_table(profile, levels[profile.scenario], language) for profile in self.profiles
        ]

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
        if not self.profiles:
            return []
        report = self.report
        figure = profiles_figure(self.profiles, report.runs, report.varying, language)
        return [] if figure is None else [figure]

    def page(self, figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The figure, the shares, and the longest operations of each scenario."""
        tables, missing = self.rows(language), self.missing()
        if not tables and not missing:
            return None
        figure = figures[0] if figures else None
        values = {"figure": figure, "profiles": tables, "missing_profiles": missing}
        title = language.say("Operations of a step") if figure is None else figure.title
        return PageSection(self.name, title, "profiles", values)

    def print(self, console: Console, language: Language, /) -> None:
        """The shares of all scenarios at a glance."""
        if tables := self.rows(language):
            console.print()
            console.print(_terminal_table(tables, language))
        for sentence in self.missing():
            console.print()
            console.print(Text(language.say(sentence)))

    def document(self, _language: Language, /) -> dict[str, Any]:
        """Every operation of every profile."""
        return {
            "profiles": [_profile_document(profile) for profile in self.profiles],
            "unprofiled": [
                {"reason": reason, "scenarios": scenarios}
                for reason, scenarios in self.unprofiled.items()
            ],
        }


def _terminal_table(tables: list[ProfileTable], language: Language) -> Table:
    """The shares of all scenarios at a glance."""
    title = Text(language.say("Where the time of a step goes, by the framework's own profiler"))
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in (language.say("scenario"), language.say("levels")):
        table.add_column(head)
    for kind in OperationKind:
        table.add_column(language.say(kind.value), justify="right")
    table.add_column(language.say("longest operation"))
    for item in tables:
        longest = f"{item.rows[0].operation} ({item.rows[0].share})"
        table.add_row(item.scenario, Text(item.levels), *item.shares.values(), Text(longest))
    return table


def _profile_document(profile: ScenarioProfile) -> dict[str, Any]:
    """A profile as plain values, with all its operations."""
    return {
        "scenario": profile.scenario,
        "steps": profile.steps,
        "shares": {kind.value: share for kind, share in profile.shares.items()},
        "operations": [
            {
                "operation": operation.operation,
                "kind": operation.kind.value,
                "calls_per_step": operation.calls_per_step,
                "seconds_per_step": operation.seconds_per_step,
                "share": operation.share,
            }
            for operation in profile.operations
        ],
        "functions": [asdict(function) for function in profile.functions],
    }


def _profile_table(profile: ScenarioProfile, levels: str, language: Language) -> ProfileTable:
    def percent(share: float) -> str:
        return language.formatted(100 * share, ".1f") + " %"

    shown = profile.operations[:SHOWN_OPERATIONS]
    rest = sum(operation.share for operation in profile.operations[SHOWN_OPERATIONS:])
    return ProfileTable(
        scenario=profile.scenario,
        levels=levels,
        shares={language.say(kind.value): percent(share) for kind, share in profile.shares.items()},
        rows=[
            ProfileRow(
                operation.operation,
                language.say(operation.kind.value),
                language.number(operation.calls_per_step, 3),
                language.quantity(operation.seconds_per_step, "s"),
                percent(operation.share),
            )
            for operation in shown
        ],
        rest=percent(rest) if len(profile.operations) > len(shown) else "",
        functions=[
            FunctionRow(
                row.function, language.quantity(row.seconds_per_step, "s"), percent(row.share)
            )
            for row in profile.functions[:SHOWN_OPERATIONS]
        ],
    )


def convergence_sentences(convergence: Convergence) -> list[Message]:
    """Who reaches the common loss first and last by each measure, who never does or is left out."""
    said = [*_ends(convergence)]
    if convergence.never:
        said.append(
            Message("Never down to that loss: {names}.", {"names": listed(convergence.never)})
        )
    if convergence.sometimes:
        said.append(
            Message(
                "Down to that loss in some runs only, and the means are of those: {names}.",
                {"names": listed(convergence.sometimes)},
            )
        )
    if convergence.short:
        said.append(
            Message(
                "Left out, since a run of fewer than {steps} steps tells too little: {names}.",
                {"steps": FEWEST_STEPS, "names": listed(convergence.short)},
            )
        )
    if convergence.silent:
        said.append(
            Message(
                "Left out, since no loss was reported: {names}.",
                {"names": listed(convergence.silent)},
            )
        )
    return said


def _ends(convergence: Convergence) -> Iterator[Message]:
    summary = convergence.summary
    for name in summary["metric"].unique(maintain_order=True):
        rows = summary.filter(pl.col("metric") == name).sort("mean", maintain_order=True)
        least, most = rows.row(0, named=True), rows.row(-1, named=True)
        yield Message(
            "{metric}: from {least} ({first}) to {most} ({last}).",
            {
                "metric": metric_title(name),
                "least": _told(least),
                "first": least["scenario"],
                "most": _told(most),
                "last": most["scenario"],
            },
        )


def _told(row: dict[str, Any]) -> Estimate | Quantity:
    if row["ci_low"] is None:
        return Quantity(row["mean"], row["unit"])
    return Estimate(row["mean"], row["ci_low"], row["ci_high"], row["unit"])


@dataclass(frozen=True)
class ConvergenceRow:
    """When one scenario reached the loss."""

    name: str
    levels: str
    cells: list[Cell]


@dataclass(frozen=True)
class ConvergenceTable:
    """The scenarios that learn one task."""

    title: Message
    heads: list[str]
    rows: list[ConvergenceRow]
    remarks: list[Message]


@dataclass(frozen=True)
class ProfileRow:
    """One operation as text."""

    operation: str
    kind: str
    calls: str
    seconds: str
    share: str


@dataclass(frozen=True)
class FunctionRow:
    """One function as text."""

    function: str
    seconds: str
    share: str


@dataclass(frozen=True)
class ProfileTable:
    """One scenario: the share of each kind of operation, and its longest operations."""

    scenario: str
    levels: str
    shares: dict[str, str]
    rows: list[ProfileRow]
    rest: str
    """The share of all operations that are not in a row; empty when all are."""
    functions: list[FunctionRow]
