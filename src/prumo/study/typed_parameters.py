"""The parameters that a workload of Prumo's own knows, each with its type, bounds and default."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from prumo.study.problem import describe
from prumo.study.retina_parameters import RetinaParameters
from prumo.study.training_parameters import TrainingParameters

if TYPE_CHECKING:
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
