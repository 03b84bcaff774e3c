"""The backbones that can be named, and what must be known of them without TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

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
