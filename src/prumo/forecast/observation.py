"""What a measured run teaches about the time of others, and the work that a training does."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from math import ceil, prod
from typing import TYPE_CHECKING, Any

from prumo.environments.frameworks import find_framework
from prumo.errors import PrumoError
from prumo.results.record import RunRecord, Verdict
from prumo.study import Adaptive, Level, Scenario, Study, Training
from prumo_worker.networks import Network, network

if TYPE_CHECKING:
    Parameters = Mapping[str, Any]

NUMBER_BYTES = 4
"""Of one activation in fp32; other precisions have kinds of their own, so the scale is theirs."""
PROFILED_STEPS = 5
BACKWARD = 2
"""The backward pass computes the gradients of the layers' inputs and of their weights."""


@dataclass(frozen=True)
class Work:
    """The size of one training run."""

    flops: float
    """Of one image, forward."""
    activation_bytes: float
    """What the layers give out for one image, forward."""
    parameters: int
    layers: int
    images: int
    """Over all epochs."""
    steps: int
    """Over all epochs."""
    rehearsed_steps: int = 0
    """Steps outside of the timed training: warm-up and profile."""

    @property
    def training_flops(self) -> float:
        """Of the whole training, forward and backward."""
        return (1 + BACKWARD) * self.flops * self.images

    @property
    def images_per_step(self) -> float:
        """The mean batch."""
        return self.images / self.steps


def training_work(  # noqa: PLR0913 (a run has so many sizes)
    net: Network,
    *,
    images: int,
    batch_size: int,
    epochs: int,
    warmup_steps: int = 0,
    profile: bool = False,
) -> Work:
    """The work of training a network; the last batch of an epoch is what is left."""
    return Work(
        flops=net.flops,
        activation_bytes=float(sum(prod(node.output_shape) for node in net.nodes) * NUMBER_BYTES),
        parameters=net.parameters,
        layers=len(net.nodes),
        images=images * epochs,
        steps=ceil(images / batch_size) * epochs,
        rehearsed_steps=warmup_steps + (PROFILED_STEPS if profile else 0),
    )


PLACE_PARAMETERS = ("batch_size", "optimizer", "channels_last")


@dataclass(frozen=True)
class Kind:
    """Runs whose times can teach about each other: one framework on one kind of machine."""

    machine: str = ""
    """The label under which the study knows the machine; empty where it names none."""
    framework: str = ""
    version: str = ""
    device: str = ""
    precision: str = ""
    threads: int = 0
    """0 for all that the machine has."""


@dataclass(frozen=True)
class Subject:
    """A scenario to be forecast."""

    scenario: str
    kind: Kind
    place: Hashable
    """What must be the same for two runs to take the same time per step."""
    replications: int | Adaptive
    levels: Mapping[str, Level] = field(default_factory=dict)
    work: Work | None = None
    """None for a program of which only the levels are known."""


@dataclass(frozen=True)
class Observation:
    """A run that was measured."""

    kind: Kind
    place: Hashable
    wall_seconds: float
    levels: Mapping[str, Level] = field(default_factory=dict)
    work: Work | None = None
    train_seconds: float | None = None
    """None where the run tells only how long it took as a whole."""
    warmup_seconds: float = 0.0
    pressure: float = 0.0
    """The share of time that processes waited for a core just before it: others were at work."""


def subject_of(study: Study, scenario: Scenario, shape: tuple[int, int], images: int) -> Subject:
    """A training of a study; `shape` are the channels and classes of its images."""
    parameters, measure = scenario.parameters, study.measure
    sizes = (int(parameters["image_size"]), *shape)
    work = _work(study, parameters, sizes, images, measure.warmup_steps)
    try:
        version = find_framework(str(parameters["framework"]), versions=study.versions).version
    except PrumoError:
        version = ""
    return Subject(
        scenario=scenario.name,
        kind=_kind(parameters, version, measure.threads),
        place=_place(parameters, work),
        replications=study.replications,
        levels=scenario.factors,
        work=work,
    )


def command_subject(study: Study, scenario: Scenario) -> Subject:
    """A run of a program, of which only the levels are known."""
    return Subject(
        scenario=scenario.name,
        kind=Kind(machine=str(scenario.parameters.get("machine", ""))),
        place=tuple(scenario.factors.items()),
        replications=study.replications,
        levels=scenario.factors,
    )


def observation_of(record: RunRecord, study: Study | None) -> Observation | None:
    """What a finished run of a results folder teaches; None where it teaches nothing of time."""
    if record.verdict is not Verdict.FINISHED or record.wall_seconds is None:
        return None
    if study is None or not isinstance(study.workload, Training):
        return Observation(
            kind=Kind(machine=str(record.parameters.get("machine", ""))),
            place=tuple(record.factors.items()),
            wall_seconds=record.wall_seconds,
            levels=record.factors,
            pressure=_pressure(record),
        )
    work = _recorded_work(record, study)
    train_seconds = record.metrics.get("train_seconds")
    if work is None or not train_seconds:
        return None
    name = str(record.parameters.get("framework")).partition("@")[0]
    version = record.versions.get(name, "").partition("+")[0]
    return Observation(
        kind=_kind(record.parameters, version, record.settings.get("threads")),
        place=_place(record.parameters, work),
        wall_seconds=record.wall_seconds,
        levels=record.factors,
        work=work,
        train_seconds=train_seconds,
        warmup_seconds=record.metrics.get("warmup_seconds", 0.0),
        pressure=_pressure(record),
    )


def _kind(parameters: Parameters, version: str, threads: int | None) -> Kind:
    return Kind(
        machine=str(parameters.get("machine", "")),
        framework=str(parameters.get("framework")).partition("@")[0],
        version=version,
        device=str(parameters.get("device", "cpu")),
        precision=str(parameters.get("precision", "fp32")),
        threads=int(parameters.get("threads") or threads or 0),
    )


def _place(parameters: Parameters, work: Work) -> Hashable:
    # The FLOPs stand for the size, the channels and the classes of the images.
    own = (str(parameters["network"]), work.flops)
    return own + tuple(parameters.get(name) for name in PLACE_PARAMETERS)


def _pressure(record: RunRecord) -> float:
    noise = record.machine.get("noise_before")
    percent = noise.get("pressure_cpu_percent") if isinstance(noise, dict) else None
    return float(percent or 0.0) / 100


def _recorded_work(record: RunRecord, study: Study) -> Work | None:
    """The work of a run as it says itself; None where its network is not known any more."""
    try:
        channels, image_size, _ = record.data["shape"]
        sizes = (image_size, channels, record.data["classes"])
        warmup_steps = int(record.settings.get("warmup_steps", 0))
        return _work(study, record.parameters, sizes, int(record.data["images"]), warmup_steps)
    except (PrumoError, ValueError, KeyError, TypeError):
        return None


def _work(
    study: Study,
    parameters: Parameters,
    sizes: tuple[int, int, int],
    images: int,
    warmup_steps: int,
) -> Work:
    name = str(parameters.get("network"))
    own = study.own_network(name)
    return training_work(
        network(name, *sizes, own.layers if own else None),
        images=images,
        batch_size=int(parameters["batch_size"]),
        epochs=int(parameters["epochs"]),
        warmup_steps=warmup_steps,
        profile=study.measure.profile,
    )
