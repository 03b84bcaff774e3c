"""Where the time of a training goes, for the page, the terminal and programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message, Series
from prumo.report.label import levels_label
from prumo.statistics.profile import OperationKind

if TYPE_CHECKING:
    from prumo.report.content import Report
    from prumo.report.language import Language
    from prumo.statistics.profile import ScenarioProfile

SHOWN_OPERATIONS = 10


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


def profile_tables(report: Report, language: Language) -> list[ProfileTable]:
    """A table for every scenario that was profiled."""
    levels = {
        row["scenario"]: levels_label(row, report.varying)
        for row in report.runs.iter_rows(named=True)
    }
    return [_table(profile, levels[profile.scenario], language) for profile in report.profiles]


def terminal_table(tables: list[ProfileTable], language: Language) -> Table:
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


def missing_profiles(report: Report) -> list[Message]:
    """Why scenarios have no profile although one was asked for, in sentences."""
    return [
        Message(
            "No profile of {scenarios}: {reason}.",
            {"scenarios": Series(tuple(scenarios)), "reason": reason},
        )
        for reason, scenarios in report.unprofiled.items()
    ]


def profile_document(profile: ScenarioProfile) -> dict[str, Any]:
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


def _table(profile: ScenarioProfile, levels: str, language: Language) -> ProfileTable:
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
