"""A scenario is one combination of levels; a run is one replication of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

Level = str | int | float | bool


def level_text(level: Level) -> str:
    """A level as it stands in tables and in the words of a command."""
    return str(level).lower() if isinstance(level, bool) else str(level)


@dataclass(frozen=True)
class Scenario:
    """One combination of factor levels, numbered in the order of the study's factors."""

    number: int
    factors: Mapping[str, Level]
    parameters: Mapping[str, Level]
    """The fixed parameters of the study together with this scenario's levels."""

    @property
    def name(self) -> str:
        """The scenario's name in tables: C1, C2 and so on."""
        return f"C{self.number}"


@dataclass(frozen=True)
class Run:
    """One replication of a scenario: a process of its own, a folder of its own."""

    scenario: Scenario
    replication: int

    @property
    def name(self) -> str:
        """The run's folder name; two digits at least, so that short studies sort well."""
        return f"C{self.scenario.number:02d}-r{self.replication}"


def scenario_name(run_name: str) -> str:
    """The scenario that a run belongs to.

    >>> scenario_name("C03-r1")
    'C3'
    """
    return f"C{int(run_name.removeprefix('C').partition('-')[0])}"
