"""A Keras network changed to compute what PyTorch's network of the same name computes.

Without this, weights that were trained in PyTorch would fit by shape and give other features:
PyTorch pads both sides alike where Keras pads the far side only, counts the padding in an average,
adds another epsilon to a variance, and its ResNet-50 strides in another convolution of a block.
"""

from __future__ import annotations

import re
from typing import Any

import keras

_EPSILON = 1e-5
_INCEPTION_EPSILON = 1e-3
_MOMENTUM = 0.9
SUFFIX = "_pytorch"
"""Ends the names of layers in this form, so that a saved model tells which form it has."""

_RESNET_ENTRY = re.compile(r"conv[345]_block1_([12])_conv")
_CONVOLUTIONS = (keras.layers.Conv2D, keras.layers.DepthwiseConv2D)


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
        epsilon = _INCEPTION_EPSILON if name == "inception_v3" else _EPSILON
        return {**settings, "epsilon": epsilon, "momentum": _MOMENTUM, "scale": True}
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
