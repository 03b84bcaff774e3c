"""Workloads: what one run does. One kind of work is one plug-in of the group `prumo.workloads`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, ValidationInfo
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from prumo.errors import PluginError, did_you_mean
from prumo.plugins import WORKLOADS
from prumo.study.section import Section, Text, refused, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

    from prumo.study.model import Study
    from prumo.study.scenario import Scenario
    from prumo.study.section import KeyPath, Level, Problem


class Workload(Section):
    """One kind of work: the section `workload` of a study file and all that Prumo asks about it.

    A package adds a kind with a subclass, named in its `pyproject.toml`:

        [project.entry-points."prumo.workloads"]
        sorting = "my_package.workload:Sorting"

    The name is the `kind` that study files give. The smallest plug-in is a section, its typed
    parameters and the class that starts its runs:

        class SortingParameters(Section):
            rows: Annotated[WholeNumber, Field(ge=1)] = 1000
            '''How many rows are sorted.'''

        class Sorting(Workload):
            '''Sort rows of random numbers.'''

            kind: Literal["sorting"]
            '''Says that this workload sorts.'''
            parameters = SortingParameters
            reported_metrics = ("sort_seconds",)
            launcher = "my_package.launcher:SortingLauncher"

    A study then says `workload: {kind: sorting}` and `factors: {rows: [1000, 10000]}`. Fields of
    the subclass are keys of the section; their docstrings go into `prumo schema`. Every value of
    the study is checked against `parameters` and reported with its file, line and key. The methods
    below have defaults that fit most kinds: override those that differ. This module must stay
    cheap to import, as planning a study imports it; what runs need belongs into the launcher's.
    """

    kind: str
    """The name of the plug-in; a subclass narrows it to a Literal."""

    parameters: ClassVar[type[Section] | None] = None
    """Fields with types, bounds and defaults, each a factor or under `fixed`; a field whose default
    is None may be absent. None for the whole: any name and value goes."""
    run_noun: ClassVar[str] = "run"
    """What one run is called in messages."""
    reported_metrics: ClassVar[Sequence[str]] = ()
    """The metrics of every run, beside those that Prumo measures itself. Adaptive replications can
    have one of them as their goal; without `parameters` any name goes."""
    main_metric: ClassVar[str] = ""
    """The metric that a report is about; empty for the time that is paid for."""
    launcher: ClassVar[str] = ""
    """`module:class` of the `prumo.run.workloads.Launcher`, called with the study and a
    `prumo.progress.Progress`. It is imported when runs are started; empty where none can be."""
    sections: ClassVar[str] = ""
    """`module:name` of a sequence of `prumo.report.sections.section.Section` that a report of such
    runs has before its general ones; imported when a report is made, empty where there is none."""
    billing: ClassVar[Mapping[str, str]] = {}
    """What of a run is paid for, where the section `cost` of a study does not say it: its keys `of`
    and `metric`."""
    advice: ClassVar[str] = ""
    """`module:function` that answers `prumo advise` about traffic, from a
    `prumo.money.cost.Costing` and a `prumo.report.traffic.TrafficNeed` to a
    `prumo.report.traffic.TrafficAdvice`."""
    starter: ClassVar[str] = ""
    """`package:file` of the commented study that `prumo new --kind` writes. It plans and runs as it
    is, and has a line `name: starter`, which is replaced; empty where there is none."""
    no_probe: ClassVar[str] = ""
    """Why a forecast cannot try a run to see how long it takes; empty where it can."""

    def problems(self, study: Study) -> Iterable[Problem]:
        """What is wrong between this section and others of the study."""
        del study
        return ()

    def value_problems(
        self, study: Study, path: KeyPath, name: str, level: Level
    ) -> Iterable[Problem]:
        """What is wrong with a parameter's value that has the right type; `path` is its place."""
        del study, path, name, level
        return ()

    def scenario_problems(self, study: Study) -> Iterable[Problem]:
        """What single scenarios combine that does not go together.

        Asked only where nothing else is wrong. `prumo.study.plan.occurring` lists what scenarios
        can have, `prumo.study.plan.place` says where the study gives a value.
        """
        del study
        return ()

    def implied(self, study: Study, name: str, level: Level) -> dict[str, Level]:
        """Other parameters that follow from this level, as an image size from a data set."""
        del study, name, level
        return {}

    def identity(self, study: Study, scenario: Scenario) -> dict[str, object]:
        """What of the workload, beside the scenario's parameters, decides about a run's figures.

        Runs with the same identity, parameters and measuring conditions are comparable. It is
        plain data; paths of files are no part of it, as they differ between machines.
        """
        del study, scenario
        return self.model_dump(mode="json")

    def frameworks(self, study: Study) -> Iterable[str]:
        """The frameworks that `prumo setup` installs for the study, as `name` or `name@version`."""
        del study
        return ()


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise refused("should not contain a NUL character")
    return text


SystemText = Annotated[Text, AfterValidator(_without_nul)]
"""Text that the operating system accepts as a path, a word of a command or a variable."""


class Imported(Workload):
    """Figures that others measured: the runs are there, and none can be started."""

    kind: Literal["imported"]
    """Says that the runs of this study came from files of somebody else's."""
    source: Text = ""
    """Where the figures were published."""


def installed_workloads() -> dict[str, type[Workload]]:
    """Kind → class; a broken plug-in is left out, as it is an error only where it is named."""
    found = {}
    for kind in WORKLOADS.names():
        with suppress(PluginError):
            found[kind] = WORKLOADS.load_class(kind, Workload)
    return found


class _ByKind:
    """Tells Pydantic to read the section with the plug-in of its `kind`.

    Only that plug-in is loaded; the JSON Schema needs all of them.
    """

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        del source, handler
        return core_schema.with_info_plain_validator_function(_read_by_kind)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        del schema
        union: Any = reduce(or_, installed_workloads().values())
        return handler(TypeAdapter(Annotated[union, Field(discriminator="kind")]).core_schema)


WorkloadField = Annotated[Workload, _ByKind]


def _read_by_kind(value: object, info: ValidationInfo) -> Workload:
    if isinstance(value, Workload):
        return value
    if not isinstance(value, dict):
        raise PydanticCustomError("model_type", "should be a mapping of names to values")
    kind = value.get("kind")
    if kind is None:
        raise refused("needs a `kind`")
    if kind not in WORKLOADS.names():
        hint = did_you_mean(str(kind), WORKLOADS.names())
        reason = refused(f"{shown(str(kind))} is not known; {hint}")
        detail = InitErrorDetails(type=reason, loc=("kind",), input=kind)
        raise ValidationError.from_exception_data("Workload", [detail])
    return WORKLOADS.load_class(kind, Workload).model_validate(value, context=info.context)
