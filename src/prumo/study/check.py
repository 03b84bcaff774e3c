"""What is wrong with a study although every section of it is well formed."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING

from prumo.errors import StudyError, did_you_mean
from prumo.study.design import Space
from prumo.study.parameters import (
    MACHINE_NAMES,
    check_value,
    is_given,
    names_machine,
    parameter_levels,
    parameters_of,
    place,
)
from prumo.study.plan import allowed_count, occurring, scenario_count
from prumo.study.problem import Problem, shown
from prumo.study.retina_check import (
    retina_problems,
    retina_scenario_problems,
    retina_value_problems,
)
from prumo.study.rule import Rule, RuleError
from prumo.study.settings import Adaptive
from prumo.study.training_parameters import DATASETS
from prumo.study.workload import RUN_PLACEHOLDERS, Command, Retina, Training, placeholders
from prumo_worker.data import CATALOG, GENERATED
from prumo_worker.journal import RETINA_METRICS, TRAINING_METRICS
from prumo_worker.networks import NetworkError, network

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.study.model import Study
    from prumo.study.problem import KeyPath
    from prumo.study.scenario import Level
    from prumo.study.section import Section

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = {*RUN_PLACEHOLDERS, "journal"}
_MOST_FACTORS = 50
_TOLD_METRICS = {"training": TRAINING_METRICS, "retina": RETINA_METRICS}
_MEASURED_METRICS = ("wall_seconds", "max_rss_bytes")


def problems(study: Study) -> list[Problem]:
    """Every problem between the sections of a study."""
    found = [*_name_problems(study), *_level_problems(study)]
    if parameters := parameters_of(study.workload):
        found += _parameter_problems(study, parameters)
        found += _goal_problems(study)
    if isinstance(study.workload, Retina):
        found += retina_problems(study, study.workload)
    elif isinstance(study.workload, Command):
        found += _command_problems(study, study.workload)
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
    goal, known = study.replications, (*_TOLD_METRICS[study.workload.kind], *_MEASURED_METRICS)
    if isinstance(goal, Adaptive) and goal.metric not in known:
        hint = did_you_mean(goal.metric, known)
        yield Problem(("replications", "metric"), f"no training tells '{goal.metric}'; {hint}")


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
                yield Problem(
                    (section, name),
                    f"training has no such parameter; {did_you_mean(name, known)}",
                )
    for path, name, level in _given(study):
        if name not in parameters.model_fields:
            continue
        try:
            check_value(parameters, name, level)
        except ValueError as error:
            yield Problem(path, str(error))
        else:
            yield from _value_problems(study, path, name, level)


def _value_problems(study: Study, path: KeyPath, name: str, level: Level) -> Iterator[Problem]:
    """What is wrong with a value that is of the right type."""
    if isinstance(study.workload, Retina):
        yield from retina_value_problems(path, name, level)
        return
    if name == "network":
        try:
            study.own_network(str(level))
        except StudyError as error:
            yield Problem(path, str(error))
    if name == "dataset" and isinstance(study.workload, Training):
        known = [*DATASETS, *study.workload.data]
        if level not in known:
            hint = did_you_mean(str(level), known)
            yield Problem(path, f"unknown data set '{level}'; {hint}")


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


def _command_problems(study: Study, command: Command) -> Iterator[Problem]:
    known = {*parameter_levels(study), *RUN_PLACEHOLDERS}
    templates: list[tuple[KeyPath, str]] = [
        *((("workload", "command", index), word) for index, word in enumerate(command.command)),
        *((("workload", "environment", name), text) for name, text in command.environment.items()),
        (("workload", "directory"), command.directory),
    ]
    for path, template in templates:
        try:
            unknown = [name for name in placeholders(template) if name not in known]
        except ValueError as error:
            yield Problem(path, f"{shown(template)}: {error}")
            continue
        for name in unknown:
            hint = did_you_mean(name, known)
            yield Problem(path, f"'{{{name}}}' is not a parameter of the study; {hint}")


def _rule_problems(study: Study) -> Iterator[Problem]:
    for section, sources in (("exclude", study.exclude), ("only", study.only)):
        for index, source in enumerate(sources):
            try:
                Rule.parse(source, study)
            except RuleError as error:
                yield Problem((section, index), str(error))


def _scenario_problems(study: Study) -> Iterator[Problem]:
    if parameters_of(study.workload):
        yield from _batch_problems(study)
    if isinstance(study.workload, Retina):
        yield from retina_scenario_problems(study)
    if isinstance(study.workload, Training):
        yield from _subset_problems(study, study.workload)
        yield from _shape_problems(study)
    rules = "only" if study.only else "exclude"
    if study.design.kind in {"random", "latin_hypercube"}:
        left, wanted = allowed_count(study), scenario_count(study)
        if left < wanted:
            yield Problem(("design", "size"), f"the rules leave {left} combinations, not {wanted}")
    elif scenario_count(study) == 0:
        yield Problem((rules,), "the rules leave no scenario")


def _batch_problems(study: Study) -> Iterator[Problem]:
    if "images" not in {*study.factors, *study.fixed}:
        return
    for values in occurring(study, ("batch_size", "images")):
        batch_size, images = values["batch_size"], values["images"]
        if isinstance(batch_size, int) and isinstance(images, int) and batch_size > images:
            yield Problem(
                place(study, values, "batch_size", "images"),
                f"a batch_size of {batch_size} is more than the {images} images of the training",
            )
            return


def _subset_problems(study: Study, workload: Training) -> Iterator[Problem]:
    """More images than a known data set has, and classes that it does not have."""
    found: set[Problem] = set()
    for values in occurring(study, ("dataset", "images", "only_class")):
        dataset = str(values["dataset"])
        if dataset not in CATALOG:
            continue
        card = CATALOG[dataset]
        images, only_class = values.get("images"), values.get("only_class")
        # How many images lie in a folder is known when it is read.
        is_bounded = dataset != GENERATED and dataset not in workload.data
        if is_bounded and isinstance(images, int) and images > card.images:
            message = f"{dataset} has {card.images} images, not {images}"
            found.add(Problem(place(study, values, "images"), message))
        if isinstance(only_class, int) and only_class >= card.classes:
            message = f"the classes of {dataset} are 0 to {card.classes - 1}, not {only_class}"
            found.add(Problem(place(study, values, "only_class"), message))
    yield from found


def _shape_problems(study: Study) -> Iterator[Problem]:
    """Image sizes from which the layers of a network leave nothing."""
    cases = {
        (str(values["network"]), int(values["image_size"]), str(values["dataset"]))
        for values in occurring(study, ("network", "image_size", "dataset"))
    }
    told: set[object] = set()
    for name, image_size, dataset in sorted(cases):
        card = CATALOG.get(dataset, CATALOG[GENERATED])
        own = study.own_network(name)
        case = name if own else (name, image_size)
        try:
            if case in told:
                continue
            if own:
                own.build(image_size, card.channels, card.classes)
            else:
                network(name, image_size, card.channels, card.classes)
        except NetworkError as error:
            told.add(case)
            message = str(error)
            if not is_given(study, "image_size"):
                message = message.replace(":", f" (image_size is {image_size} by default):", 1)
            values: dict[str, Level] = {"image_size": image_size, "network": name}
            yield Problem(place(study, values, "image_size", "network"), message)
        except StudyError as error:
            told.add(case)
            yield Problem(place(study, {"network": name}, "network"), str(error))


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
