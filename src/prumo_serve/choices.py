"""What can be chosen about a packaged model. Light to import: options show these choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

RuntimeName = str
"""Of a plug-in in the group `prumo.runtimes`."""
Layout = Literal["NHWC", "NCHW"]
Precision = Literal["fp32", "fp16", "bf16", "int8", "int8-dynamic"]
Fit = Literal["stretch", "crop", "pad"]
ALL = "all"
"""The images of a folder that was split, whatever their subset."""
INSIDE = "inside"

PRECISIONS: dict[RuntimeName, tuple[Precision, ...]] = {
    "onnxruntime": ("fp32", "fp16", "int8", "int8-dynamic"),
    "openvino": ("fp32", "fp16", "bf16", "int8"),
    "litert": ("fp32", "fp16", "int8", "int8-dynamic"),
    "tensorflow": ("fp32",),
    "pytorch": ("fp32",),
}

NORMALIZATIONS: Mapping[str, Mapping[str, Any] | None] = {
    INSIDE: None,
    "0..255": None,
    "0..1": {"scale": (255.0, 255.0, 255.0)},
    "-1..1": {"offset": (127.5, 127.5, 127.5), "scale": (127.5, 127.5, 127.5)},
    # Mean and standard deviation of ImageNet's channels, as torchvision documents them.
    "imagenet": {
        "offset": (0.485 * 255, 0.456 * 255, 0.406 * 255),
        "scale": (0.229 * 255, 0.224 * 255, 0.225 * 255),
    },
    # ImageNet's mean, blue first: Caffe's model zoo, and Keras for VGG and ResNet.
    "caffe": {"offset": (103.939, 116.779, 123.68), "channels": "bgr"},
}
"""The fields of a manifest's `Normalization` by the name of the pixels; None changes nothing."""


@dataclass(frozen=True)
class Pace:
    """How variants are measured."""

    rounds: int = 10
    starts: int = 3
    threads: int = 1
    """That a runtime computes one answer with."""
    callers: int = 1
    """That ask at once where images per second are measured."""
