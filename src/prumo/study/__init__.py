"""The question: factors, levels, designs → scenarios → runs. Pure."""

from prumo.errors import StudyError
from prumo.study.model import Study, load
from prumo.study.plan import Plan, fingerprint, plan_of, scenario_count
from prumo.study.rule import Rule, RuleError
from prumo.study.scenario import Level, Run, Scenario, level_text, scenario_name
from prumo.study.settings import (
    Adaptive,
    CostSettings,
    Machine,
    MeasureSettings,
    Order,
    ordered_runs,
    round_runs,
)
from prumo.study.workload import (
    Command,
    Imported,
    Invocation,
    Metrics,
    Retina,
    Training,
    invocation_for,
)

__all__ = [
    "Adaptive",
    "Command",
    "CostSettings",
    "Imported",
    "Invocation",
    "Level",
    "Machine",
    "MeasureSettings",
    "Metrics",
    "Order",
    "Plan",
    "Retina",
    "Rule",
    "RuleError",
    "Run",
    "Scenario",
    "Study",
    "StudyError",
    "Training",
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
