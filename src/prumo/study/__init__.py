"""The question: factors, levels, designs → scenarios → runs. Pure."""

from prumo.errors import StudyError
from prumo.study.command import Command, invocation_for
from prumo.study.model import Study, load
from prumo.study.plan import Plan, fingerprint, plan_of, scenario_count
from prumo.study.rule import Rule, RuleError
from prumo.study.scenario import (
    Adaptive,
    Order,
    Run,
    Scenario,
    level_text,
    ordered_runs,
    round_runs,
    scenario_name,
)
from prumo.study.section import CostSettings, Level, MeasureSettings
from prumo.study.training import Training
from prumo.study.workload import Imported, Workload

__all__ = [
    "Adaptive",
    "Command",
    "CostSettings",
    "Imported",
    "Level",
    "MeasureSettings",
    "Order",
    "Plan",
    "Rule",
    "RuleError",
    "Run",
    "Scenario",
    "Study",
    "StudyError",
    "Training",
    "Workload",
    "fingerprint",
    "invocation_for",
    "level_text",
    "load",
    "ordered_runs",
    "plan_of",
    "round_runs",
    "scenario_count",
    "scenario_name",
]
