"""Backbones that Keras brings along, cut before their classifier."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import keras

from prumo_worker.failure import Unavailable
from prumo_worker.retina.backbones.normalization import CAFFE, CENTRED, IMAGENET, Normalization


@dataclass(frozen=True)
class Application:
    """A network of `keras.applications` and the pixels that its published weights want."""

    builder: str
    normalization: Normalization


APPLICATIONS = MappingProxyType(
    {
        "densenet121": Application("DenseNet121", IMAGENET),
        "efficientnet_b0": Application("EfficientNetB0", IMAGENET),
        "inception_v3": Application("InceptionV3", CENTRED),
        "mobilenet": Application("MobileNet", CENTRED),
        "mobilenet_v2": Application("MobileNetV2", CENTRED),
        "resnet50": Application("ResNet50", CAFFE),
        "vgg19": Application("VGG19", CAFFE),
    }
)


def application(name: str, image_size: int, *, library_weights: bool) -> keras.Model:
    """From normalized pixels to the features of the last convolution.

    With `library_weights`, those that Keras has in its cache or can fetch; Unavailable without.
    """
    build = getattr(keras.applications, APPLICATIONS[name].builder)
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
