"""The typed parameters of a training on fundus photographs, in a study and by itself."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from prumo.errors import did_you_mean
from prumo.study.section import Number, Section, Text, Truth, WholeNumber, refused, written_as
from prumo.study.training_parameters import Device
from prumo_worker.retina.backbones.names import NAMES as NETWORKS

LINEAR_HEAD = "linear"
SCRATCH, LIBRARY = "scratch", "library"


def _checked_network(network: str) -> str:
    if network not in NETWORKS:
        raise refused(f"unknown network '{network}'; {did_you_mean(network, NETWORKS)}")
    return network


class RetinaParameters(Section):
    """What a training on fundus photographs can be told, each as a factor or under `fixed`."""

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
