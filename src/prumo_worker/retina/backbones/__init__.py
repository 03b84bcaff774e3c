"""The part of a network that sees: from normalized pixels to a map of features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from prumo_worker.task import TaskError

if TYPE_CHECKING:
    import keras
    import numpy as np


EVEN_PADDING = "even_padding"
"""The name of an array that says: strided convolutions are padded alike on all sides."""


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


@dataclass(frozen=True)
class BackboneFacts:
    """Where its weights may be found, and what they want."""

    builder: str
    """The name of its function in `keras.applications`; empty where Keras has none."""
    normalization: Normalization
    """What its published weights want of pixels."""
    library_file: str = ""
    """The name that Keras gives to its own weights in its cache; empty where it has none."""
    smallest_size: int = 32
    """The least side that leaves anything at its last layer."""


_LONG = "_weights_tf_dim_ordering_tf_kernels_notop.h5"
FACTS = MappingProxyType(
    {
        "densenet121": BackboneFacts("DenseNet121", IMAGENET, f"densenet121{_LONG}"),
        "efficientnet_b0": BackboneFacts("EfficientNetB0", IMAGENET, "efficientnetb0_notop.h5"),
        "efficientnet_lite0": BackboneFacts("", LITE),
        "inception_v3": BackboneFacts("InceptionV3", CENTRED, f"inception_v3{_LONG}", 75),
        "mobilenet": BackboneFacts("MobileNet", CENTRED, "mobilenet_1_0_224_tf_no_top.h5"),
        "mobilenet_v2": BackboneFacts(
            "MobileNetV2",
            CENTRED,
            "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_224_no_top.h5",
        ),
        "resnet50": BackboneFacts("ResNet50", CAFFE, f"resnet50{_LONG}"),
        "vgg19": BackboneFacts("VGG19", CAFFE, f"vgg19{_LONG}"),
    }
)
NAMES: tuple[str, ...] = tuple(FACTS)


@dataclass(frozen=True)
class Backbone:
    """A network without its classifier."""

    network: keras.Model
    """Normalized pixels → (rows, columns, channels) of its last convolution."""
    normalization: Normalization
    """What must be done to pixels before this network sees them."""
    weights: str
    """What was loaded, in words: `scratch`, `library`, or the arrays and what was left over."""


def build_backbone(
    name: str,
    image_size: int,
    arrays: Mapping[str, np.ndarray] | None,
    *,
    library_weights: bool = False,
) -> Backbone:
    """A backbone for photographs of a size, with weights from arrays, from Keras, or none."""
    if name not in FACTS:
        raise TaskError(f"no backbone is named {name!r}; known: {', '.join(NAMES)}")
    smallest = FACTS[name].smallest_size
    if image_size < smallest:
        raise TaskError(
            f"{name} needs photographs of at least {smallest} by {smallest} pixels, not "
            f"{image_size}"
        )
    # Keras takes seconds to import, and the controller reads only names from this package.
    from prumo_worker.retina.backbones import assembly  # noqa: PLC0415

    return assembly.assembled(name, image_size, arrays, library_weights=library_weights)
