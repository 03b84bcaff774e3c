"""What is wrong with a study although every section of it is well formed."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING

from prumo.errors import did_you_mean
from prumo.study.design import Space
from prumo.study.plan import (
    MACHINE_NAMES,
    allowed_count,
    check_value,
    is_given,
    names_machine,
    scenario_count,
)
from prumo.study.rule import Rule, RuleError
from prumo.study.scenario import RUN_PLACEHOLDERS, Adaptive
from prumo.study.section import Problem, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.study.model import Study
    from prumo.study.section import KeyPath, Level, Section

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = {*RUN_PLACEHOLDERS, "journal"}
_MOST_FACTORS = 50
_MEASURED_METRICS = ("wall_seconds", "max_rss_bytes", "user_seconds", "system_seconds")


def problems(study: Study) -> list[Problem]:
    """Every problem between the sections of a study."""
    found = [*_name_problems(study), *_level_problems(study)]
    if parameters := study.workload.parameters:
        found += _parameter_problems(study, parameters)
        found += _goal_problems(study)
    found += study.workload.problems(study)
    found += _machine_problems(study)
    if not all(study.factors.values()) or not study.factors:
        return found
    found += _rule_problems(study)
    found += [
        Problem(("design", *problem.path), problem.message)
        for problem in study.design.problems(Space(study.factors))
    ]
    # Only a study that is right so far can be counted, and only then is it worth scaling.
    return found or list(_scenario_problems(study)) or list(_scale_problems(study))


def _goal_problems(study: Study) -> Iterator[Problem]:
    goal, known = study.replications, (*study.workload.reported_metrics, *_MEASURED_METRICS)
    if isinstance(goal, Adaptive) and goal.metric not in known:
        hint = did_you_mean(goal.metric, known)
        message = f"no {study.workload.run_noun} reports '{goal.metric}'; {hint}"
        yield Problem(("replications", "metric"), message)


def _name_problems(study: Study) -> Iterator[Problem]:
    if not study.factors:
        yield Problem(("factors",), "needs at least one factor")
    if len(study.factors) > _MOST_FACTORS:
        yield Problem(("factors",), f"more than {_MOST_FACTORS} factors")
    for section, names in (("factors", study.factors), ("fixed", study.fixed)):
        for name in names:
            if not _NAME.fullmatch(name) or keyword.iskeyword(name):
                yield Problem(
                    (section, name), "a name has lower-case letters, digits and _ , as batch_size"
                )
            elif name in _RESERVED:
                yield Problem((section, name), "this name has a meaning of its own; take another")
    for name in study.factors.keys() & study.fixed.keys():
        yield Problem(("fixed", name), "is also a factor; it can only be one of the two")


def _level_problems(study: Study) -> Iterator[Problem]:
    for name, levels in study.factors.items():
        if not levels:
            yield Problem(("factors", name), "needs at least one level")
        seen: set[tuple[bool, Level]] = set()
        for index, level in enumerate(levels):
            if (isinstance(level, bool), level) in seen:
                yield Problem(("factors", name, index), f"{shown(level)} is given twice")
            seen.add((isinstance(level, bool), level))


def _given(study: Study) -> Iterator[tuple[KeyPath, str, Level]]:
    """Every value that the study gives to a parameter, with its place."""
    for name, levels in study.factors.items():
        for index, level in enumerate(levels):
            yield ("factors", name, index), name, level
    for name, level in study.fixed.items():
        yield ("fixed", name), name, level


def _parameter_problems(study: Study, parameters: type[Section]) -> Iterator[Problem]:
    for name, field in parameters.model_fields.items():
        if field.is_required() and not is_given(study, name):
            yield Problem(("fixed", name), "is required, here or as a factor")
    known = [*parameters.model_fields, *MACHINE_NAMES]
    for section, names in (("factors", study.factors), ("fixed", study.fixed)):
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known)
                noun = study.workload.run_noun
                yield Problem((section, name), f"{noun} has no such parameter; {hint}")
    for path, name, level in _given(study):
        if name not in parameters.model_fields:
            continue
        try:
            check_value(parameters, name, level)
        except ValueError as error:
            yield Problem(path, str(error))
        else:
            yield from study.workload.value_problems(study, path, name, level)


def _machine_problems(study: Study) -> Iterator[Problem]:
    labels = [
        (path, name, level) for path, name, level in _given(study) if names_machine(study, name)
    ]
    for path, _, level in labels:
        if level not in study.machines:
            hint = did_you_mean(str(level), study.machines)
            yield Problem(path, f"{shown(level)} is not under `machines`" + (hint and f"; {hint}"))
    if len({name for _, name, _ in labels}) > 1:
        yield Problem(labels[0][0][:2], "give either `machine` or `environment`, not both")
    has_device = any(machine.device for machine in study.machines.values())
    for path, name, _ in _given(study):
        if name == "device" and labels and has_device:
            yield Problem(path[:2], "the device comes from the machine")
            return


def _rule_problems(study: Study) -> Iterator[Problem]:
    for section, sources in (("exclude", study.exclude), ("only", study.only)):
        for index, source in enumerate(sources):
            try:
                Rule.parse(source, study)
            except RuleError as error:
                yield Problem((section, index), str(error))


def _scenario_problems(study: Study) -> Iterator[Problem]:
    yield from study.workload.scenario_problems(study)
    rules = "only" if study.only else "exclude"
    if study.design.kind in {"random", "latin_hypercube"}:
        left, wanted = allowed_count(study), scenario_count(study)
        if left < wanted:
            yield Problem(("design", "size"), f"the rules leave {left} combinations, not {wanted}")
    elif scenario_count(study) == 0:
        yield Problem((rules,), "the rules leave no scenario")


def _scale_problems(study: Study) -> Iterator[Problem]:
    for scale, changes in study.scales.items():
        factors = [name for name in changes if name in study.factors]
        for name in factors:
            yield Problem(
                ("scales", scale, name), "is a factor; a scale changes fixed parameters only"
            )
        fixed = {**study.fixed, **changes}
        smaller = study.model_copy(update={"fixed": fixed, "scales": {}})
        for problem in [] if factors else problems(smaller):
            at_change = problem.path[:1] == ("fixed",) and problem.path[1:2] in [
                (name,) for name in changes
            ]
            key = problem.path[1:] if at_change else ()
            yield Problem(("scales", scale, *key), problem.message)
