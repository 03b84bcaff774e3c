"""The scenarios of a study: their parameters, how many there are, and their fingerprints."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from prumo.study.design import MOST_LISTED, DesignError, Full, Space
from prumo.study.rule import Rule
from prumo.study.scenario import Scenario, replication_range
from prumo.study.section import describe

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from prumo.study.design import Combination
    from prumo.study.model import Study
    from prumo.study.section import KeyPath, Level, Section


_FINGERPRINT_DIGITS = 16

MACHINE_NAMES = ("machine", "environment")
"""The parameters that name the machine of a run."""


@dataclass(frozen=True)
class Plan:
    """How much work a study is."""

    scenarios: int
    replications_minimum: int
    replications_maximum: int
    remarks: tuple[str, ...]

    @property
    def runs_minimum(self) -> int:
        """The runs that are certain."""
        return self.scenarios * self.replications_minimum

    @property
    def runs(self) -> int:
        """The runs there can be at most."""
        return self.scenarios * self.replications_maximum


def plan_of(study: Study) -> Plan:
    """Count a study's scenarios and runs."""
    minimum, maximum = replication_range(study.replications)
    remarks = tuple(study.design.remarks(Space(study.factors)))
    return Plan(scenario_count(study), minimum, maximum, remarks)


def scenarios(study: Study) -> Iterator[Scenario]:
    """The study's scenarios in the order of its factors, numbered from 1."""
    space = Space(study.factors)
    selection = _Selection(study)
    names = tuple(study.factors)
    levels = tuple(study.factors.values())
    try:
        combinations = study.design.combinations(space, selection.allows)
    except DesignError as error:
        raise study.error(("design", "size"), str(error)) from None
    for number, combination in enumerate(combinations, start=1):
        factors = {
            name: known[position]
            for name, known, position in zip(names, levels, combination, strict=True)
        }
        yield Scenario(number, factors, selection.parameters(combination))


def scenario_count(study: Study) -> int:
    """The number of scenarios, without listing them where that can be helped."""
    selection = _Selection(study)
    space = Space(study.factors)
    if not selection.has_rules or study.design.kind in {"random", "latin_hypercube"}:
        return study.design.count(space)
    if isinstance(study.design, Full):
        return allowed_count(study)
    return sum(1 for _ in study.design.combinations(space, selection.allows))


def allowed_count(study: Study) -> int:
    """The number of combinations that the rules leave, of all there are.

    Only the factors that rules look at are gone through; the others multiply.
    """
    selection = _Selection(study)
    free = prod(
        len(levels) for name, levels in study.factors.items() if name not in selection.needs
    )
    if prod(len(study.factors[name]) for name in selection.needs) > MOST_LISTED:
        return Space(study.factors).size
    return free * sum(1 for _ in selection.projected(()))


def occurring(study: Study, factors: Collection[str]) -> Iterator[dict[str, Level]]:
    """The parameters, as far as these factors and the rules go, that scenarios can have."""
    return _Selection(study).projected(factors)


def fingerprint(study: Study, scenario: Scenario) -> str:
    """Hash what decides about a run's figures.

    How often it is sampled, when it is given up and where files lie is left out.
    """
    conditions = study.measure.model_dump(include={"threads", "affinity", "warmup_steps"})
    content = {
        "workload": study.workload.identity(study, scenario),
        "parameters": dict(scenario.parameters),
        "conditions": conditions,
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_FINGERPRINT_DIGITS]


def check_value(parameters: type[Section], name: str, level: Level) -> None:
    """Refuse a value that a known parameter cannot have; ValueError says what is wrong."""
    try:
        _adapter(parameters, name).validate_python(level)
    except ValidationError as error:
        raise ValueError(describe(error.errors()[0])) from None


def names_machine(study: Study, name: str) -> bool:
    """Whether the levels of this parameter are labels of machines."""
    return name in MACHINE_NAMES and bool(study.workload.parameters or study.machines)


def constants(study: Study) -> dict[str, Level]:
    """The parameters that are the same in every scenario."""
    parameters = study.workload.parameters
    values = _defaults(parameters) if parameters else {}
    for name, level in [*values.items(), *study.fixed.items()]:
        values |= contribution(study, name, level)
    return values


def contribution(study: Study, name: str, level: Level) -> dict[str, Level]:
    """The parameters that one level sets: its own and what else follows from it.

    From a machine follow its label and device; the workload knows about other levels.
    """
    if not names_machine(study, name):
        return {name: _typed(study, name, level), **study.workload.implied(study, name, level)}
    values = {name: level, "machine": level}
    machine = study.machines.get(str(level))
    if machine and machine.device:
        values["device"] = machine.device
    return values | study.workload.implied(study, name, level)


def parameter_levels(study: Study) -> dict[str, tuple[Level, ...]]:
    """Every parameter of the study's scenarios with the values that it can take."""
    levels: dict[str, list[Level]] = {name: [level] for name, level in constants(study).items()}
    for name, factor_levels in study.factors.items():
        varied: dict[str, list[Level]] = {}
        for level in factor_levels:
            for parameter, value in contribution(study, name, level).items():
                varied.setdefault(parameter, []).append(value)
        for parameter, values in varied.items():
            # A machine without a device leaves the default one in place.
            kept = levels.get(parameter, []) if len(values) < len(factor_levels) else []
            levels[parameter] = [*kept, *values]
    return {name: tuple(values) for name, values in levels.items()}


def factors_behind(study: Study, parameters: Collection[str]) -> list[str]:
    """The factors on which any of these parameters depends."""
    return [
        name
        for name, levels in study.factors.items()
        if any(
            not contribution(study, name, level).keys().isdisjoint(parameters) for level in levels
        )
    ]


def is_given(study: Study, name: str) -> bool:
    """Whether the study itself gives a value to this parameter."""
    return name in study.factors or name in study.fixed


def place(study: Study, values: Mapping[str, Level], *names: str) -> KeyPath:
    """Where the study gives its value to the first of these parameters that it gives at all."""
    name = next((name for name in names if is_given(study, name)), None)
    if name is None:
        return ("factors",)
    if name in study.fixed:
        return ("fixed", name)
    return ("factors", name, study.factors[name].index(values[name]))


def _typed(study: Study, name: str, level: Level) -> Level:
    """A value as its parameter holds it, so that 1 and 1.0 are one rate; a wrong one as it is."""
    parameters = study.workload.parameters
    if parameters is None or name not in parameters.model_fields:
        return level
    try:
        value: Level = _adapter(parameters, name).validate_python(level)
    except ValidationError:
        return level
    return value


def _defaults(parameters: type[Section]) -> dict[str, Level]:
    """The parameters that have a value even when the study gives none."""
    return {
        name: field.default
        for name, field in parameters.model_fields.items()
        if not field.is_required() and field.default is not None
    }


@cache
def _adapter(parameters: type[Section], name: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_type_hints(parameters, include_extras=True)[name])


class _Selection:
    """The rules of a study over combinations of its factors."""

    def __init__(self, study: Study) -> None:
        self._only = [Rule.parse(source, study) for source in study.only]
        self._exclude = [Rule.parse(source, study) for source in study.exclude]
        self._constants = constants(study)
        self._contributions = [
            [contribution(study, name, level) for level in levels]
            for name, levels in study.factors.items()
        ]
        self._counts = {name: len(levels) for name, levels in study.factors.items()}
        looked_at = {name for rule in (*self._only, *self._exclude) for name in rule.names}
        self.has_rules = bool(self._only or self._exclude)
        self.needs = factors_behind(study, looked_at)

    def allows(self, combination: Combination) -> bool:
        return not self.has_rules or self._keeps(self.parameters(combination))

    def parameters(self, combination: Sequence[int]) -> dict[str, Level]:
        values = self._constants.copy()
        for levels, position in zip(self._contributions, combination, strict=True):
            values.update(levels[position])
        return values

    def projected(self, factors: Collection[str]) -> Iterator[dict[str, Level]]:
        """Allowed parameters, with only these factors and those of the rules varied."""
        ranges = [
            range(count if name in factors or name in self.needs else 1)
            for name, count in self._counts.items()
        ]
        for combination in product(*ranges):
            values = self.parameters(combination)
            if self._keeps(values):
                yield values

    def _keeps(self, values: dict[str, Level]) -> bool:
        return all(rule.holds(values) for rule in self._only) and not any(
            rule.holds(values) for rule in self._exclude
        )
