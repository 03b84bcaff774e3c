"""The workload `retina`: trainings on fundus photographs as the runs of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from prumo.errors import did_you_mean
from prumo.study.plan import is_given, occurring, place
from prumo.study.section import (
    Device,
    Number,
    Problem,
    Section,
    Text,
    Truth,
    WholeNumber,
    refused,
    written_as,
)
from prumo.study.training import batch_problems
from prumo.study.workload import SystemText, Workload
from prumo_worker.journal import RETINA_METRICS
from prumo_worker.retina.backbones import FACTS
from prumo_worker.retina.backbones import NAMES as NETWORKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.study.model import Study
    from prumo.study.scenario import Scenario
    from prumo.study.section import KeyPath, Level


FRAMEWORK = "tensorflow"
"""Models on fundus photographs are trained in this one alone."""
LINEAR_HEAD = "linear"
SCRATCH, LIBRARY = "scratch", "library"


def _checked_network(network: str) -> str:
    if network not in NETWORKS:
        raise refused(f"unknown network '{network}'; {did_you_mean(network, NETWORKS)}")
    return network


class RetinaParameters(Section):
    """The parameters of a training on fundus photographs, each a factor or under `fixed`."""

    network: Annotated[Text, AfterValidator(_checked_network)]
    """The backbone, such as `inception_v3`."""
    task: Literal["referral", "grade"] = "referral"
    """One probability of a referral, or one for each of the five grades."""
    head: Annotated[
        Text,
        written_as(
            rf"{LINEAR_HEAD}|[1-9][0-9]{{0,4}}(\+[1-9][0-9]{{0,4}})*",
            f"`{LINEAR_HEAD}` or the widths of hidden layers, such as 128+128",
        ),
    ] = LINEAR_HEAD
    """What lies between the pooled features and the outputs: `linear`, or widths as `128+128`."""
    weights: Annotated[Text, Field(min_length=1)] = SCRATCH
    """Of the backbone: `scratch`, `library` for those in Keras's own cache, or a file."""
    frozen: Truth = False
    """Leave the backbone as it is, compute its features once and train the head alone."""
    trained_layers: Annotated[WholeNumber, Field(ge=0)] = 0
    """How many of the backbone's last layers are trained, where it is not frozen; 0 means all."""
    augment: Truth = True
    """Turn, mirror and recolour photographs at random; a frozen backbone sees them mirrored."""
    class_weights: Truth = True
    """Let every class count the same in the loss, however rare it is."""
    image_size: Annotated[WholeNumber, Field(ge=16, le=4096)] = 299
    """Side of the square photographs in pixels; that of the prepared ones where there are any."""
    images: Annotated[WholeNumber, Field(ge=2)] | None = None
    """How many photographs are generated, where no data is given."""
    batch_size: Annotated[WholeNumber, Field(ge=1, le=65536)] = 8
    """Photographs per step, over all devices together."""
    epochs: Annotated[WholeNumber, Field(ge=1, le=1_000_000)] = 200
    """Passes over the training photographs, if nothing stops it earlier."""
    patience: Annotated[WholeNumber, Field(ge=0)] = 0
    """Stop after so many epochs without a better validation loss; 0 never stops early."""
    optimizer: Literal["adam", "sgd", "rmsprop"] = "adam"
    """The rule that changes the weights."""
    learning_rate: Annotated[Number, Field(gt=0)] | None = None
    """Step width of the optimizer at the beginning; 0.001 when absent, 0.0001 where pretrained
    weights are fine-tuned."""
    weight_decay: Annotated[Number, Field(ge=0)] | None = None
    """Pull of the dense layers' weights towards zero, as 1/C of a logistic regression; when absent,
    100 for a linear head on a frozen backbone, else 0."""
    reduce_epochs: Annotated[WholeNumber, Field(ge=0)] = 5
    """Make the learning rate smaller after so many epochs without a better loss; 0 never does."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """Type of the numbers in which the network computes."""
    device: Device = "cpu"
    """Where the network is trained; a machine's device comes first."""
    strategy: Literal["auto", "one", "mirrored", "tpu"] = "auto"
    """How the work is shared: one device, a copy on every GPU, a TPU; `auto` uses all there are."""
    threads: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Compute threads; all cores, or those of a study's `measure`, when absent."""
    seed: Annotated[WholeNumber, Field(ge=0, lt=2**32)] = 1
    """Seed of weights, order, augmentation and generated photographs."""


class Retina(Workload):
    """Train a model on fundus photographs, as `prumo retina train` does."""

    kind: Literal["retina"]
    """Says that this workload trains on fundus photographs."""
    data: Annotated[SystemText, Field(min_length=1)] | None = None
    """Folder of `prumo retina convert`, relative to the study file; else images are generated."""

    parameters = RetinaParameters
    run_noun = "training"
    reported_metrics = RETINA_METRICS
    launcher = "prumo_retina.launcher:RetinaLauncher"
    # Run as it is, like a program, a whole training would be the probe.
    no_probe = (
        "trainings on photographs are not probed; one finished run of it is enough to forecast"
    )

    def problems(self, study: Study) -> Iterator[Problem]:
        """What its sections say against each other."""
        if self.data and is_given(study, "images"):
            yield Problem(
                ("fixed" if "images" in study.fixed else "factors", "images"),
                "says how many photographs to generate, and workload.data names real ones",
            )
        if study.measure.profile:
            yield Problem(("measure", "profile"), "trainings on photographs are not profiled")

    def value_problems(
        self, study: Study, path: KeyPath, name: str, level: Level
    ) -> Iterator[Problem]:
        """What a study cannot give to a parameter although a single training can."""
        del study
        if name == "weights" and level not in {SCRATCH, LIBRARY}:
            yield Problem(
                path, f"a study begins from `{SCRATCH}` or from the `{LIBRARY}`'s own weights"
            )

    def scenario_problems(self, study: Study) -> Iterator[Problem]:
        """What single scenarios combine that does not go together."""
        yield from batch_problems(study)
        found: dict[Problem, None] = {}
        for values in occurring(study, ("network", "image_size")):
            least = FACTS[str(values["network"])].smallest_size
            if int(values["image_size"]) < least:
                message = f"{values['network']} needs photographs of {least} pixels or more"
                found[Problem(place(study, values, "image_size", "network"), message)] = None
        for values in occurring(study, ("device", "strategy", "machine", "environment")):
            device, strategy = values["device"], values["strategy"]
            if strategy != "auto" and (device == "tpu") != (strategy == "tpu"):
                message = f"the strategy {strategy} does not go with the device {device}"
                found[Problem(place(study, values, "strategy"), message)] = None
        for values in occurring(study, ("frozen", "weights")):
            if values["frozen"] and values["weights"] == SCRATCH:
                message = (
                    f"a frozen backbone without weights has nothing to tell; `weights: {LIBRARY}`"
                )
                found[Problem(place(study, values, "frozen"), message)] = None
        yield from found

    def identity(self, study: Study, scenario: Scenario) -> dict[str, object]:
        """TensorFlow's version, and whether the photographs are real; not where they are."""
        del scenario
        return {
            "kind": self.kind,
            "version": study.framework_version(FRAMEWORK),
            "data_given": self.data is not None,
        }

    def frameworks(self, study: Study) -> list[str]:
        """TensorFlow alone."""
        del study
        return [FRAMEWORK]
