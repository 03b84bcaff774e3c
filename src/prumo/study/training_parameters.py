"""The typed parameters of a training run, with their bounds and defaults."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from prumo.errors import did_you_mean
from prumo.study.network import names_file
from prumo.study.section import Number, Section, Text, Truth, WholeNumber, refused
from prumo_worker.data import CATALOG
from prumo_worker.frameworks import NAMES as FRAMEWORKS
from prumo_worker.networks import NAMES as NETWORKS
from prumo_worker.recipe import Recipe

DATASETS = tuple(CATALOG)

_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!_-]*")


def _no_gpu(value: Any) -> Any:  # noqa: ANN401 (not yet checked)
    # The nearest spelling would be `tpu`.
    if value == "gpu":
        raise refused("'gpu' is not known; did you mean 'cuda'?")
    return value


Device = Annotated[Literal["cpu", "cuda", "tpu"], BeforeValidator(_no_gpu)]


def _checked_version(version: str) -> str:
    """Refuse what cannot be the version of a library."""
    if not _VERSION.fullmatch(version):
        raise refused(f"'{version}' is not a version such as 2.13.0")
    return version


def _checked_framework(framework: str) -> str:
    """Refuse a framework that is not known; `name` or `name@version`."""
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
    """What a training run can be told, each as a factor or under `fixed`."""

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
