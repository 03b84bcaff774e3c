"""What a network expects of its pixels, by the names that people use."""

from __future__ import annotations

from types import MappingProxyType

from prumo.model.manifest import Normalization

INSIDE = "inside"

NORMALIZATIONS: MappingProxyType[str, Normalization | None] = MappingProxyType(
    {
        INSIDE: None,
        "0..255": None,
        "0..1": Normalization(scale=(255.0, 255.0, 255.0)),
        "-1..1": Normalization(offset=(127.5, 127.5, 127.5), scale=(127.5, 127.5, 127.5)),
        # Mean and standard deviation of ImageNet's channels, as torchvision documents them.
        "imagenet": Normalization(
            offset=(0.485 * 255, 0.456 * 255, 0.406 * 255),
            scale=(0.229 * 255, 0.224 * 255, 0.225 * 255),
        ),
        # ImageNet's mean, blue first: Caffe's model zoo, and Keras for VGG and ResNet.
        "caffe": Normalization(offset=(103.939, 116.779, 123.68), channels="bgr"),
    }
)
