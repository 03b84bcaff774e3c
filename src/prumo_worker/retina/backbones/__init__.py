"""The part of a network that sees: from normalized pixels to a map of features."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from prumo_worker.task import TaskError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import keras
    import numpy as np


EVEN_PADDING = "even_padding"
"""The name of an array that says: strided convolutions are padded alike on all sides."""


@dataclass(frozen=True)
class BackboneFacts:
    """What decides on sizes and on where weights may be found."""

    native_size: int
    """Side in pixels of the photographs that its published weights were trained with."""
    smallest_size: int
    """The least side that leaves anything at its last layer."""
    library_file: str = ""
    """The name that Keras gives to its own weights in its cache; empty where it has none."""


FACTS = MappingProxyType(
    {
        "densenet121": BackboneFacts(
            224, 32, "densenet121_weights_tf_dim_ordering_tf_kernels_notop.h5"
        ),
        "efficientnet_b0": BackboneFacts(224, 32, "efficientnetb0_notop.h5"),
        "efficientnet_lite0": BackboneFacts(224, 32),
        "inception_v3": BackboneFacts(
            299, 75, "inception_v3_weights_tf_dim_ordering_tf_kernels_notop.h5"
        ),
        "mobilenet": BackboneFacts(224, 32, "mobilenet_1_0_224_tf_no_top.h5"),
        "mobilenet_v2": BackboneFacts(
            224, 32, "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_224_no_top.h5"
        ),
        "resnet50": BackboneFacts(224, 32, "resnet50_weights_tf_dim_ordering_tf_kernels_notop.h5"),
        "vgg19": BackboneFacts(224, 32, "vgg19_weights_tf_dim_ordering_tf_kernels_notop.h5"),
    }
)
NAMES: tuple[str, ...] = tuple(FACTS)


@dataclass(frozen=True)
class Normalization:
    """(pixel - offset) / scale for pixels from 0 to 255, after the channels are put in order."""

    offset: tuple[float, float, float]
    """One for each channel, in the order of `channels`."""
    scale: tuple[float, float, float]
    channels: str = "rgb"
    """`rgb` or `bgr`; pixels come as RGB."""


CENTRED = Normalization((127.5, 127.5, 127.5), (127.5, 127.5, 127.5))
"""From -1 to 1, as the networks of Google's authors want it."""

LITE = Normalization((127.0, 127.0, 127.0), (128.0, 128.0, 128.0))
"""EfficientNet-Lite's own, made for quantization."""

IMAGENET = Normalization(
    (0.485 * 255, 0.456 * 255, 0.406 * 255), (0.229 * 255, 0.224 * 255, 0.225 * 255)
)
"""By mean and standard deviation of ImageNet's channels, as torchvision does."""

CAFFE = Normalization((103.939, 116.779, 123.68), (1.0, 1.0, 1.0), "bgr")
"""ImageNet's mean taken off each channel, blue first, as Caffe's model zoo did."""


__all__ = ["FACTS", "NAMES", "Backbone", "BackboneFacts", "build_backbone"]


@dataclass(frozen=True)
class Backbone:
    """A network without its classifier."""

    network: keras.Model
    """Normalized pixels → (rows, columns, channels) of its last convolution."""
    normalization: Normalization
    """What must be done to pixels before this network sees them."""
    weights: str
    """What was loaded, in words: `scratch`, `library`, or the arrays and what was left over."""
    native_size: int


def build_backbone(
    name: str,
    image_size: int,
    arrays: Mapping[str, np.ndarray] | None,
    *,
    library_weights: bool = False,
) -> Backbone:
    """A backbone for photographs of a size, with weights from arrays, from Keras, or none."""
    _check(name, image_size)
    # Keras takes seconds to import, and the controller reads only names from this package.
    from prumo_worker.retina.backbones import assembly  # noqa: PLC0415

    return assembly.assembled(name, image_size, arrays, library_weights=library_weights)


def _check(name: str, image_size: int) -> None:
    if name not in FACTS:
        raise TaskError(f"no backbone is named {name!r}; known: {', '.join(NAMES)}")
    smallest = FACTS[name].smallest_size
    if image_size < smallest:
        raise TaskError(
            f"{name} needs photographs of at least {smallest} by {smallest} pixels, not "
            f"{image_size}"
        )
