"""What a scenario's worker is told: defaults, fixed parameters, levels and the machine's device."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from prumo.study.problem import describe
from prumo.study.retina_parameters import RetinaParameters
from prumo.study.training_parameters import TrainingParameters
from prumo.study.workload import Training
from prumo_worker.data import CATALOG

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from prumo.study.model import Study
    from prumo.study.problem import KeyPath
    from prumo.study.scenario import Level
    from prumo.study.section import Section
    from prumo.study.workload import Workload


_BY_KIND: dict[str, type[Section]] = {"training": TrainingParameters, "retina": RetinaParameters}


def parameters_of(workload: Workload) -> type[Section] | None:
    """The typed parameters of a workload; None where they are the user's own affair."""
    return _BY_KIND.get(workload.kind)


def check_value(parameters: type[Section], name: str, level: Level) -> None:
    """Refuse a value that a known parameter cannot have; ValueError says what is wrong."""
    try:
        _adapter(parameters, name).validate_python(level)
    except ValidationError as error:
        raise ValueError(describe(error.errors()[0])) from None


def typed_value(parameters: type[Section], name: str, level: Level) -> Level:
    """A value as its parameter holds it, so that 1 and 1.0 are one rate; a wrong one as it is."""
    try:
        value: Level = _adapter(parameters, name).validate_python(level)
    except ValidationError:
        return level
    return value


def defaults(parameters: type[Section]) -> dict[str, Level]:
    """The parameters that have a value even when the study gives none."""
    return {
        name: field.default
        for name, field in parameters.model_fields.items()
        if not field.is_required() and field.default is not None
    }


@cache
def _adapter(parameters: type[Section], name: str) -> TypeAdapter[Any]:
    return TypeAdapter(get_type_hints(parameters, include_extras=True)[name])


MACHINE_NAMES = ("machine", "environment")
_OWN_IMAGE_SIZE = 32
"""For images under a name of the user's own, which may have any sizes."""


def names_machine(study: Study, name: str) -> bool:
    """Whether the levels of this parameter are labels of machines."""
    return name in MACHINE_NAMES and bool(parameters_of(study.workload) or study.machines)


def constants(study: Study) -> dict[str, Level]:
    """The parameters that are the same in every scenario."""
    parameters = parameters_of(study.workload)
    values = defaults(parameters) if parameters else {}
    if "dataset" in values:
        values |= contribution(study, "dataset", values["dataset"])
    for name, level in study.fixed.items():
        values |= contribution(study, name, level)
    return values


def contribution(study: Study, name: str, level: Level) -> dict[str, Level]:
    """What one level says to the worker: itself and what else follows from it.

    From a machine follow its label and device, from a data set the size that its images have.
    """
    if not names_machine(study, name):
        is_sizing = name == "dataset" and isinstance(study.workload, Training)
        is_sized = not is_sizing or is_given(study, "image_size")
        size = {} if is_sized else {"image_size": _own_size(str(level))}
        return {name: _typed(study, name, level), **size}
    values = {name: level, "machine": level}
    machine = study.machines.get(str(level))
    if machine and machine.device:
        values["device"] = machine.device
    return values


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


def _own_size(dataset: str) -> int:
    card = CATALOG.get(dataset)
    return card.image_size if card else _OWN_IMAGE_SIZE


def _typed(study: Study, name: str, level: Level) -> Level:
    parameters = parameters_of(study.workload)
    if parameters is None or name not in parameters.model_fields:
        return level
    return typed_value(parameters, name, level)
