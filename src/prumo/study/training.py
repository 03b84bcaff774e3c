"""The workload `training`: one of Prumo's networks or the user's own, in one of the frameworks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from prumo.errors import StudyError, did_you_mean
from prumo.study.network import Architecture, built, names_file
from prumo.study.plan import is_given, occurring, place
from prumo.study.section import Device, Number, Problem, Section, Text, Truth, WholeNumber, refused
from prumo.study.workload import SystemText, Workload
from prumo_worker.data import CATALOG, GENERATED
from prumo_worker.frameworks import NAMES as FRAMEWORKS
from prumo_worker.journal import TRAINING_METRICS
from prumo_worker.networks import NAMES as NETWORKS
from prumo_worker.networks import NetworkError
from prumo_worker.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.study.model import Study
    from prumo.study.scenario import Scenario
    from prumo.study.section import KeyPath, Level

DATASETS = tuple(CATALOG)

_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!_-]*")


def _checked_version(version: str) -> str:
    if not _VERSION.fullmatch(version):
        raise refused(f"'{version}' is not a version such as 2.13.0")
    return version


def _checked_framework(framework: str) -> str:
    name, at, version = framework.partition("@")
    if name not in FRAMEWORKS:
        raise refused(f"unknown framework '{name}'; {did_you_mean(name, FRAMEWORKS)}")
    if at:
        _checked_version(version)
    return framework


def _checked_network(network: str) -> str:
    if network not in NETWORKS and not names_file(network):
        raise refused(f"unknown network '{network}'; {did_you_mean(network, NETWORKS)}")
    return network


def _checked_framework_name(name: str) -> str:
    if name not in FRAMEWORKS:
        raise refused(f"unknown framework; {did_you_mean(name, FRAMEWORKS)}")
    return name


def _quoted_version(value: Any) -> Any:  # noqa: ANN401 (not yet checked)
    if isinstance(value, int | float):
        raise refused(f"put the version in quotes: '{value}'")
    return value


FrameworkName = Annotated[Text, AfterValidator(_checked_framework_name)]
Version = Annotated[Text, BeforeValidator(_quoted_version), AfterValidator(_checked_version)]


class TrainingParameters(Section):
    """The parameters of a training run, each a factor or under `fixed`."""

    framework: Annotated[Text, AfterValidator(_checked_framework)] = "pytorch"
    """The library, as `pytorch` or `pytorch@2.13.0`."""
    network: Annotated[Text, AfterValidator(_checked_network)]
    """One of Prumo's networks, or the path of a .yaml or .py file that defines one."""
    dataset: Text = "generated"
    """A known data set, or a name given under `workload.data`."""
    image_size: Annotated[WholeNumber, Field(ge=1, le=4096)] | None = None
    """Side of the square images in pixels; the data set's own when absent, 32 for your own."""
    batch_size: Annotated[WholeNumber, Field(ge=1, le=65536)] = Recipe.batch_size
    """Images per step."""
    epochs: Annotated[WholeNumber, Field(ge=1, le=1_000_000)] = Recipe.epochs
    """Passes over the training images."""
    images: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Number of training images; all of the data set when absent."""
    only_class: Annotated[WholeNumber, Field(ge=0)] | None = None
    """The number of the one class whose images are used; all classes when absent."""
    optimizer: Literal["sgd", "adam"] = "sgd"
    """The rule that changes the weights."""
    learning_rate: Annotated[Number, Field(gt=0)] = Recipe.learning_rate
    """Step width of the optimizer."""
    momentum: Annotated[Number, Field(ge=0, lt=1)] = Recipe.momentum
    """Momentum of `sgd`."""
    weight_decay: Annotated[Number, Field(ge=0)] = Recipe.weight_decay
    """Decay of the weights at every step."""
    schedule: Literal["constant", "step", "cosine"] = "constant"
    """How the learning rate changes from epoch to epoch."""
    decay: Annotated[Number, Field(gt=0, le=1)] | None = None
    """Of the schedule `step`: what the learning rate is multiplied with; 0.1 when absent."""
    decay_epochs: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Of the schedule `step`: after how many epochs, again and again; 30 when absent."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """Type of the numbers in which the network computes."""
    channels_last: Truth = Recipe.channels_last
    """Keep the channels of an image together in memory."""
    threads: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Compute threads; those of `measure` when absent."""
    device: Device = "cpu"
    """Where the network is trained; a machine's device comes first."""
    seed: Annotated[WholeNumber, Field(ge=0, lt=2**32)] = Recipe.seed
    """Seed of weights, order of images and generated images."""


_OWN_IMAGE_SIZE = 32
"""For images under a name of the user's own, which may have any sizes."""


class Training(Workload):
    """Train one of Prumo's networks."""

    kind: Literal["training"]
    """Says that this workload trains a network."""
    data: dict[Text, Annotated[SystemText, Field(min_length=1)]] = Field(default_factory=dict)
    """Data set → its folder or .npz file, relative to the study file."""

    parameters = TrainingParameters
    run_noun = "training"
    reported_metrics = TRAINING_METRICS
    launcher = "prumo.run.workloads.training:TrainingLauncher"
    starter = "prumo.study:starters/training.yaml"

    def value_problems(
        self, study: Study, path: KeyPath, name: str, level: Level
    ) -> Iterator[Problem]:
        """Networks that cannot be read, and data sets that nobody knows."""
        if name == "network":
            try:
                study.own_network(str(level))
            except StudyError as error:
                yield Problem(path, str(error))
        known = [*DATASETS, *self.data]
        if name == "dataset" and level not in known:
            hint = did_you_mean(str(level), known)
            yield Problem(path, f"unknown data set '{level}'; {hint}")

    def scenario_problems(self, study: Study) -> Iterator[Problem]:
        """Batches, subsets and image sizes that data or network do not allow."""
        yield from batch_problems(study)
        yield from _subset_problems(study, self)
        yield from _shape_problems(study)

    def implied(self, study: Study, name: str, level: Level) -> dict[str, Level]:
        """From a data set follows the size of its images, where the study gives none."""
        if name != "dataset" or is_given(study, "image_size"):
            return {}
        card = CATALOG.get(str(level))
        return {"image_size": card.image_size if card else _OWN_IMAGE_SIZE}

    def identity(self, study: Study, scenario: Scenario) -> dict[str, object]:
        """The framework's version, whether the user gave the data, and the layers if they did."""
        own = study.own_network(str(scenario.parameters["network"]))
        layers = {"layers": own.layers} if own else {}
        return {
            **layers,
            "kind": self.kind,
            "version": study.framework_version(str(scenario.parameters["framework"])),
            "data_given": scenario.parameters["dataset"] in self.data,
        }

    def frameworks(self, study: Study) -> list[str]:
        """Those of all scenarios, each once."""
        named = (str(scenario.parameters["framework"]) for scenario in study.scenarios())
        return list(dict.fromkeys(named))


def batch_problems(study: Study) -> Iterator[Problem]:
    """A batch of more images than there are."""
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
    reported: set[object] = set()
    for name, image_size, dataset in sorted(cases):
        card = CATALOG.get(dataset, CATALOG[GENERATED])
        own = study.own_network(name)
        case = name if own else (name, image_size)
        try:
            if case in reported:
                continue
            built(Architecture(name, image_size, card.channels, card.classes), own)
        except NetworkError as error:
            reported.add(case)
            message = str(error)
            if not is_given(study, "image_size"):
                message = message.replace(":", f" (image_size is {image_size} by default):", 1)
            values: dict[str, Level] = {"image_size": image_size, "network": name}
            yield Problem(place(study, values, "image_size", "network"), message)
        except StudyError as error:
            reported.add(case)
            yield Problem(place(study, {"network": name}, "network"), str(error))
