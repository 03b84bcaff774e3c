"""The question: factors, levels, designs → scenarios → runs. Pure."""

from prumo.errors import StudyError
from prumo.study.cost import CostSettings
from prumo.study.file import load
from prumo.study.identity import fingerprint
from prumo.study.invocation import Invocation, invocation_for
from prumo.study.machine import Machine
from prumo.study.measure import MeasureSettings
from prumo.study.model import Study
from prumo.study.order import Order, ordered_runs, round_runs
from prumo.study.plan import Plan, plan_of, scenario_count
from prumo.study.replication import Adaptive
from prumo.study.rule import Rule, RuleError
from prumo.study.scenario import Level, Run, Scenario, level_text, scenario_name
from prumo.study.workload import Command, Imported, Metrics, Retina, Training

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
