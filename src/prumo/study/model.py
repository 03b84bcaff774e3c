"""A study: the question, as its file puts it."""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    WithJsonSchema,
)
from ruamel.yaml import YAML

from prumo.errors import InputError, StudyError, did_you_mean
from prumo.study.check import problems
from prumo.study.design import Full, LatinHypercube, OneAtATime, RandomSample
from prumo.study.document import read_mapping, read_text
from prumo.study.fractional_design import Fractional
from prumo.study.network import OwnNetwork, names_file, read_own_network
from prumo.study.plan import parameter_levels, scenarios
from prumo.study.rule import RuleSource
from prumo.study.scenario import Order, OrderField, Replications, named_kind
from prumo.study.section import (
    CostSettings,
    KeyPath,
    LevelField,
    Machine,
    MeasureSettings,
    Problem,
    Section,
    Text,
    problems_of,
    refused,
    study_error,
    written_as,
)
from prumo.study.training import FrameworkName, Training, Version
from prumo.study.workload import WorkloadField

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prumo.study.scenario import Scenario
    from prumo.study.section import Level


_NAME = r"[a-z0-9][a-z0-9._-]{0,99}"

# Sections that no other section depends on: the rest can be checked without them.
_INDEPENDENT = {"name", "description", "replications", "order", "versions", "measure", "cost"}


def _checked_rule(value: object) -> object:
    if isinstance(value, str | dict):
        return value
    raise refused("should be a condition in text, or a mapping of parameter to level")


ScaleName = Annotated[
    Text, written_as(r"[a-z0-9]+", "lower-case letters and digits, as it becomes part of a name")
]
RuleField = Annotated[
    RuleSource,
    PlainValidator(_checked_rule),
    WithJsonSchema({"type": ["string", "object"]}),
]

_AnyDesign = Annotated[
    Full | Fractional | OneAtATime | LatinHypercube | RandomSample, Field(discriminator="kind")
]

DesignField = Annotated[
    _AnyDesign,
    BeforeValidator(
        named_kind,
        json_schema_input_type=Literal["full", "fractional", "one_at_a_time"] | _AnyDesign,
    ),
]


@dataclass(frozen=True)
class Origin:
    """Where a study came from: its file, the text as written, and the lines of its keys."""

    source: Path | None = None
    text: str = ""
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    networks: Mapping[str, OwnNetwork] = field(default_factory=dict)
    """Networks of the user's own that need not be read from their files."""
    reads_networks: bool = True
    """Whether other networks may be read from their files, which runs those that are programs."""


class Study(Section):
    """Factors and levels, what one run does, how often and how it is measured."""

    name: Annotated[
        Text,
        written_as(
            _NAME, "lower-case letters, digits, -, _ and ., beginning with a letter or digit"
        ),
        Field(json_schema_extra={"pattern": f"^{_NAME}$"}),
    ]
    """Names the results folder: lower-case letters, digits, `-`, `_` and `.`."""
    description: Text = ""
    """Free text, shown in reports."""
    workload: WorkloadField
    """What one run does."""
    factors: dict[Text, tuple[LevelField, ...]]
    """Factor → its levels, in order; the last factor varies fastest."""
    fixed: dict[Text, LevelField] = Field(default_factory=dict)
    """Parameters that are the same in every run."""
    exclude: tuple[RuleField, ...] = ()
    """Scenarios for which one of these rules holds are left out."""
    only: tuple[RuleField, ...] = ()
    """Scenarios for which one of these rules does not hold are left out."""
    design: DesignField = Full()
    """Which combinations of levels become scenarios."""
    replications: Replications = 1
    """Runs of every scenario: a number, or until a metric's mean is known well enough."""
    order: OrderField = Order()
    """In which order the runs happen."""
    machines: dict[Text, Machine] = Field(default_factory=dict)
    """Label → machine; the levels of a factor named `machine` or `environment`."""
    scales: dict[ScaleName, dict[Text, LevelField]] = Field(default_factory=dict)
    """Name → fixed parameters to change, for the same factors on a smaller budget."""
    versions: dict[FrameworkName, Version] = Field(default_factory=dict)
    """Framework → version, where a level names none."""
    measure: MeasureSettings = MeasureSettings()
    """How runs are measured."""
    cost: CostSettings = CostSettings()
    """What of a run is paid for."""

    _origin: Origin = PrivateAttr(default=Origin())
    _own_networks: dict[str, OwnNetwork] = PrivateAttr(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str) -> Study:
        """Read a study from its file; StudyError says what is wrong and where."""
        return load(Path(path))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], origin: Origin | None = None) -> Self:
        """Check plain data, as from a notebook; what reads a file says where it came from."""
        origin = origin or Origin()
        try:
            study = cls.model_validate(data, context=origin)
        except ValidationError as error:
            found = problems_of(error)
            found += cls._further_problems(data, found, origin)
        else:
            found = problems(study)
            if not found:
                return study
        raise study_error(found, origin.lines, origin.source)

    def model_post_init(self, context: Any, /) -> None:  # noqa: ANN401 (pydantic's signature)
        """Remember where the study came from."""
        if isinstance(context, Origin):
            self._origin = context
            self._own_networks |= context.networks

    @property
    def source(self) -> Path | None:
        """The file that the study was read from."""
        return self._origin.source

    @property
    def folder(self) -> Path:
        """The folder that relative paths of the study start from."""
        return self.source.parent if self.source else Path()

    @property
    def text(self) -> str:
        """The study as YAML, exactly as its author wrote it if there is a file."""
        if self._origin.text:
            return self._origin.text
        stream = io.StringIO()
        YAML().dump(self.model_dump(mode="json", exclude_unset=True), stream)
        return stream.getvalue()

    def scenarios(self) -> Iterator[Scenario]:
        """The scenarios in the order of the factors, made one at a time."""
        return scenarios(self)

    def levels(self) -> dict[str, tuple[Level, ...]]:
        """Every parameter of the scenarios with the values that it can take."""
        return parameter_levels(self)

    def scaled(self, scale: str) -> Self:
        """The same factors with the fixed parameters of a scale, as a study of its own name."""
        if scale not in self.scales:
            hint = did_you_mean(scale, self.scales) or "the study has no `scales`"
            raise InputError(f"{self.name} has no scale '{scale}'; {hint}")
        data = self.model_dump(mode="json", exclude_unset=True, exclude={"scales"})
        data |= {"name": f"{self.name}-{scale}", "fixed": {**self.fixed, **self.scales[scale]}}
        # Its text is another than the author's; relative paths still start at his file.
        origin = replace(self._origin, text="", networks=self._own_networks)
        return self.from_dict(data, origin)

    def framework_version(self, framework: str) -> str | None:
        """The version that `name` or `name@version` asks for; None leaves it to Prumo."""
        name, _, version = framework.partition("@")
        return version or self.versions.get(name)

    def data_paths(self) -> dict[str, Path]:
        """Data set → its folder or file, absolute."""
        if not isinstance(self.workload, Training):
            return {}
        folder = self.folder.absolute()
        return {name: folder / Path(path).expanduser() for name, path in self.workload.data.items()}

    def own_network(self, level: str) -> OwnNetwork | None:
        """The network that a file of the user's defines; None where Prumo brings the network.

        The file is read once, so that every run has the network that was checked.
        """
        if not names_file(level):
            return None
        if level not in self._own_networks:
            if not self._origin.reads_networks:
                raise StudyError(f"the network {level} is not among those kept with the study")
            self._own_networks[level] = read_own_network(level, self.folder)
        return self._own_networks[level]

    def own_networks(self) -> dict[str, OwnNetwork]:
        """Level of `network` → the network of the user's own that it names; also of scales."""
        if not isinstance(self.workload, Training):
            return {}
        levels = [*self.levels()["network"]]
        levels += [scale["network"] for scale in self.scales.values() if "network" in scale]
        named = {str(level): self.own_network(str(level)) for level in levels}
        return {level: own for level, own in named.items() if own is not None}

    def error(self, path: KeyPath, message: str) -> StudyError:
        """An error at a place of this study."""
        return study_error([Problem(path, message)], self._origin.lines, self.source)

    @classmethod
    def _further_problems(
        cls, data: Mapping[str, Any], found: list[Problem], origin: Origin
    ) -> list[Problem]:
        """What else is wrong, when the wrong sections do not matter to the others."""
        wrong = {str(problem.path[0]) for problem in found if problem.path}
        dependent = cls.model_fields.keys() - _INDEPENDENT
        if not wrong or wrong & dependent:
            return []
        rest = {key: value for key, value in data.items() if key not in wrong}
        return problems(cls.model_validate({"name": "unnamed", **rest}, context=origin))


def load(path: str | Path, networks: Mapping[str, Sequence[Any]] | None = None) -> Study:
    """Read and check a study file; StudyError names the file, the lines and the keys.

    The networks of its own that the study names come from files beside it. Where the layers of
    networks are given, there are no others and no file of a network is read.
    """
    file = Path(path)
    text = read_text(file, "a study")
    document = read_mapping(text, file)
    own = {name: OwnNetwork(name, tuple(layers)) for name, layers in (networks or {}).items()}
    origin = Origin(file, text, document.lines, own, reads_networks=networks is None)
    return Study.from_dict(document.data, origin)
