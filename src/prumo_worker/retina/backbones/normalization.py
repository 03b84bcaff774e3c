"""What is done to pixels before a backbone sees them."""

from __future__ import annotations

from dataclasses import dataclass


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
