"""EfficientNet-Lite0: EfficientNet-B0 without squeeze-and-excitation, with ReLU6 for swish.

Stages and constants are those of the authors' `efficientnet/lite` in the repository tensorflow/tpu.
"""

from __future__ import annotations

from dataclasses import dataclass

import keras

_STEM_FILTERS = 32
_HEAD_FILTERS = 1280
_EPSILON = 1e-3
_MOMENTUM = 0.99


@dataclass(frozen=True)
class _Stage:
    blocks: int
    kernel: int
    stride: int
    expansion: int
    filters: int


_STAGES = (
    _Stage(1, 3, 1, 1, 16),
    _Stage(2, 3, 2, 6, 24),
    _Stage(2, 5, 2, 6, 40),
    _Stage(3, 3, 2, 6, 80),
    _Stage(3, 5, 1, 6, 112),
    _Stage(4, 5, 2, 6, 192),
    _Stage(1, 3, 1, 6, 320),
)


def efficientnet_lite0(image_size: int) -> keras.Model:
    """A Keras model from normalized pixels to the features of the last convolution."""
    pixels = keras.Input((image_size, image_size, 3), name="pixels")
    x = _convolution(pixels, "stem", _STEM_FILTERS, kernel=3, stride=2)
    x = keras.layers.ReLU(6.0, name="stem_relu")(x)
    block = 0
    for stage in _STAGES:
        for repeat in range(stage.blocks):
            x = _block(x, f"block{block}", stage, stage.stride if repeat == 0 else 1)
            block += 1
    x = _convolution(x, "head", _HEAD_FILTERS)
    x = keras.layers.ReLU(6.0, name="head_relu")(x)
    return keras.Model(pixels, x, name="efficientnet_lite0")


def _block(before: keras.KerasTensor, name: str, stage: _Stage, stride: int) -> keras.KerasTensor:
    """Expand, filter each channel by itself, project; around it a short cut where shapes allow."""
    x = before
    filters = before.shape[-1]
    if stage.expansion > 1:
        x = _convolution(x, f"{name}_expand", filters * stage.expansion)
        x = keras.layers.ReLU(6.0, name=f"{name}_expand_relu")(x)
    x = keras.layers.DepthwiseConv2D(
        stage.kernel,
        strides=stride,
        padding="same",
        use_bias=False,
        depthwise_initializer=_fan_out(),
        name=f"{name}_depthwise_conv",
    )(x)
    x = _normalized(x, f"{name}_depthwise")
    x = keras.layers.ReLU(6.0, name=f"{name}_depthwise_relu")(x)
    x = _convolution(x, f"{name}_project", stage.filters)
    if stride == 1 and filters == stage.filters:
        x = keras.layers.Add(name=f"{name}_add")([x, before])
    return x


def _convolution(
    x: keras.KerasTensor, name: str, filters: int, kernel: int = 1, stride: int = 1
) -> keras.KerasTensor:
    x = keras.layers.Conv2D(
        filters,
        kernel,
        strides=stride,
        padding="same",
        use_bias=False,
        kernel_initializer=_fan_out(),
        name=f"{name}_conv",
    )(x)
    return _normalized(x, name)


def _normalized(x: keras.KerasTensor, name: str) -> keras.KerasTensor:
    return keras.layers.BatchNormalization(epsilon=_EPSILON, momentum=_MOMENTUM, name=f"{name}_bn")(
        x
    )


def _fan_out() -> keras.initializers.Initializer:
    return keras.initializers.VarianceScaling(2.0, mode="fan_out", distribution="truncated_normal")
