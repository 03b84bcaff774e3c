"""The networks in Keras: its applications, EfficientNet-Lite0, and each as PyTorch computes it.

Weights that were trained in PyTorch fit a Keras application by shape, but give other features:
PyTorch pads both sides alike where Keras pads the far side only, counts the padding in an average,
adds another epsilon to a variance, and its ResNet-50 strides in another convolution of a block.
"""

from __future__ import annotations

import re
from typing import Any

import keras

from prumo_worker.retina.backbones import FACTS
from prumo_worker.task import Unavailable

_STEM_FILTERS = 32
_HEAD_FILTERS = 1280
_PYTORCH_EPSILON = 1e-5
_INCEPTION_EPSILON = 1e-3
_PYTORCH_MOMENTUM = 0.9
SUFFIX = "_pytorch"
"""Ends the names of layers in this form, so that a saved model tells which form it has."""

_RESNET_ENTRY = re.compile(r"conv[345]_block1_([12])_conv")
_CONVOLUTIONS = (keras.layers.Conv2D, keras.layers.DepthwiseConv2D)


def application(name: str, image_size: int, *, library_weights: bool) -> keras.Model:
    """From normalized pixels to the features of the last convolution.

    With `library_weights`, those that Keras has in its cache or can fetch; Unavailable without.
    """
    build = getattr(keras.applications, FACTS[name].builder)
    shape = (image_size, image_size, 3)
    if not library_weights:
        return without_own_normalization(build(include_top=False, weights=None, input_shape=shape))
    try:
        network = build(include_top=False, weights="imagenet", input_shape=shape)
    # Keras raises a bare Exception when a download fails, and others when a file is damaged.
    except Exception as error:
        raise Unavailable(
            f"Keras's own weights of {name} are neither in its cache (~/.keras/models) nor can "
            f"they be fetched: {error}; a weights file can be given instead"
        ) from error
    return without_own_normalization(network)


def without_own_normalization(network: keras.Model) -> keras.Model:
    """Without the first layers that scale pixels: ours does that, and then says truly what it did.

    The layers themselves are the same ones, with their weights.
    """
    own = (keras.layers.Rescaling, keras.layers.Normalization)
    if not any(isinstance(layer, own) for layer in network.layers):
        return network

    def call(
        layer: keras.Layer, *inputs: keras.KerasTensor, **settings: object
    ) -> keras.KerasTensor:
        return inputs[0] if isinstance(layer, own) else layer(*inputs, **settings)

    return keras.models.clone_model(network, clone_function=lambda layer: layer, call_function=call)


# Blocks, kernel, stride of the first block, expansion, filters.
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


def efficientnet_lite0(image_size: int) -> keras.Model:
    """A Keras model from normalized pixels to the features of the last convolution."""
    pixels = keras.Input((image_size, image_size, 3), name="pixels")
    x = _rectified(_convolution(pixels, "stem", _STEM_FILTERS, kernel=3, stride=2), "stem")
    block = 0
    for blocks, kernel, stride, expansion, filters in _STAGES:
        for repeat in range(blocks):
            first = stride if repeat == 0 else 1
            x = _block(x, f"block{block}", kernel, first, expansion, filters)
            block += 1
    x = _rectified(_convolution(x, "head", _HEAD_FILTERS), "head")
    return keras.Model(pixels, x, name="efficientnet_lite0")


def _block(  # noqa: PLR0913 (a row of the table above)
    before: keras.KerasTensor, name: str, kernel: int, stride: int, expansion: int, filters: int
) -> keras.KerasTensor:
    """Expand, filter each channel by itself, project; around it a short cut where shapes allow."""
    x = before
    channels = before.shape[-1]
    if expansion > 1:
        x = _convolution(x, f"{name}_expand", channels * expansion)
        x = _rectified(x, f"{name}_expand")
    depthwise = keras.layers.DepthwiseConv2D(
        kernel,
        strides=stride,
        padding="same",
        use_bias=False,
        depthwise_initializer=_fan_out(),
        name=f"{name}_depthwise_conv",
    )
    x = _rectified(_normalized(depthwise(x), f"{name}_depthwise"), f"{name}_depthwise")
    x = _convolution(x, f"{name}_project", filters)
    if stride == 1 and channels == filters:
        x = keras.layers.Add(name=f"{name}_add")([x, before])
    return x


def _rectified(x: keras.KerasTensor, name: str) -> keras.KerasTensor:
    return keras.layers.ReLU(6.0, name=f"{name}_relu")(x)


def _convolution(
    x: keras.KerasTensor, name: str, filters: int, kernel: int = 1, stride: int = 1
) -> keras.KerasTensor:
    convolution = keras.layers.Conv2D(
        filters,
        kernel,
        strides=stride,
        padding="same",
        use_bias=False,
        kernel_initializer=_fan_out(),
        name=f"{name}_conv",
    )
    return _normalized(convolution(x), name)


def _normalized(x: keras.KerasTensor, name: str) -> keras.KerasTensor:
    return keras.layers.BatchNormalization(epsilon=1e-3, momentum=0.99, name=f"{name}_bn")(x)


def _fan_out() -> keras.initializers.Initializer:
    return keras.initializers.VarianceScaling(2.0, mode="fan_out", distribution="truncated_normal")


def as_in_pytorch(network: keras.Model, name: str) -> keras.Model:
    """A network like this one with new, untrained layers, whose names end in SUFFIX."""
    settings = {layer.name: _settings(layer, name) for layer in network.layers}
    paddings = {
        layer.name: _padding(layer, settings[layer.name])
        for layer in network.layers
        if isinstance(layer, (*_CONVOLUTIONS, keras.layers.AveragePooling2D))
    }

    def cloned(layer: keras.Layer) -> keras.Layer:
        padded = {"padding": "valid"} if paddings.get(layer.name) else {}
        name = f"{layer.name}{SUFFIX}"
        return layer.__class__.from_config({**settings[layer.name], **padded, "name": name})

    def called(
        layer: keras.Layer, *inputs: keras.KerasTensor, **arguments: object
    ) -> keras.KerasTensor:
        if padding := paddings.get(layer.name.removesuffix(SUFFIX)):
            inputs = (keras.layers.ZeroPadding2D(padding, name=f"{layer.name}_even")(inputs[0]),)
        return layer(*inputs, **arguments)

    return keras.models.clone_model(network, clone_function=cloned, call_function=called)


def _settings(layer: keras.Layer, name: str) -> dict[str, Any]:
    """Of a layer, as PyTorch has them, but for the padding inside a convolution or an average."""
    settings: dict[str, Any] = layer.get_config()
    if isinstance(layer, keras.layers.BatchNormalization):
        epsilon = _INCEPTION_EPSILON if name == "inception_v3" else _PYTORCH_EPSILON
        return {**settings, "epsilon": epsilon, "momentum": _PYTORCH_MOMENTUM, "scale": True}
    if isinstance(layer, keras.layers.ZeroPadding2D):
        return {**settings, "padding": max(side for pair in layer.padding for side in pair)}
    if isinstance(layer, keras.layers.Conv2D) and name == "resnet50":
        return {**settings, "use_bias": False, "strides": _resnet_stride(layer)}
    return settings


def _resnet_stride(layer: keras.layers.Conv2D) -> tuple[int, int]:
    """PyTorch's ResNet halves the size in a block's second convolution, Keras's in its first."""
    if entry := _RESNET_ENTRY.fullmatch(layer.name):
        return (1, 1) if entry[1] == "1" else (2, 2)
    strides: tuple[int, int] = layer.strides
    return strides


def _padding(layer: keras.Layer, settings: dict[str, Any]) -> int:
    """How much must be put on every side; zero where Keras's own padding does the same."""
    is_average = isinstance(layer, keras.layers.AveragePooling2D)
    is_even = max(settings["strides"]) == 1 and not is_average
    if settings["padding"] != "same" or is_even:
        return 0
    size: int = max(settings["pool_size" if is_average else "kernel_size"])
    return size // 2
