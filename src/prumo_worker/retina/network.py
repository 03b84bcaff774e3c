"""The whole network as it is kept and used: raw pixels → probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras

from prumo_worker.retina.head import FeatureScale, probabilities_of, scores_of
from prumo_worker.retina.heat_map import SCORES_LAYER

if TYPE_CHECKING:
    from prumo_worker.retina.backbones import Backbone
    from prumo_worker.retina.backbones.normalization import Normalization
    from prumo_worker.retina.recipe import RetinaRecipe


def whole_network(
    backbone: Backbone, recipe: RetinaRecipe, scale: FeatureScale | None = None
) -> keras.Model:
    """Normalization, backbone, pooling and a new head, in one model that takes pixels 0 to 255."""
    pixels = keras.Input((recipe.image_size, recipe.image_size, 3), name="pixels")
    features = pooled_features(backbone, pixels)
    scores = scores_of(features, recipe, scale)
    return keras.Model(pixels, probabilities_of(scores, recipe), name=f"retina_{recipe.network}")


def feature_network(backbone: Backbone, recipe: RetinaRecipe) -> keras.Model:
    """The same up to the pooled features."""
    pixels = keras.Input((recipe.image_size, recipe.image_size, 3), name="pixels")
    return keras.Model(pixels, pooled_features(backbone, pixels), name="features")


def head_network(channels: int, recipe: RetinaRecipe, scale: FeatureScale | None) -> keras.Model:
    """A head by itself: pooled features → scores."""
    features = keras.Input((channels,), name="features")
    return keras.Model(features, scores_of(features, recipe, scale), name="head")


def scores_network(network: keras.Model) -> keras.Model:
    """The same network up to its scores, with the same layers."""
    return keras.Model(network.input, network.get_layer(SCORES_LAYER).output)


def copy_head(head: keras.Model, network: keras.Model) -> None:
    """Put the weights of a head by itself into the same layers of a whole network."""
    for layer in head.layers:
        if layer.weights:
            network.get_layer(layer.name).set_weights(layer.get_weights())


def pooled_features(backbone: Backbone, pixels: keras.KerasTensor) -> keras.KerasTensor:
    """The mean over rows and columns of what the backbone sees in raw pixels."""
    features = backbone.network(normalized(pixels, backbone.normalization))
    return keras.layers.GlobalAveragePooling2D(name="pool")(features)


def normalized(pixels: keras.KerasTensor, how: Normalization) -> keras.KerasTensor:
    """(pixel - offset) / scale for each channel, in the order that the backbone wants."""
    if how.channels == "bgr":
        pixels = keras.ops.flip(pixels, axis=-1)
    return keras.layers.Rescaling(
        scale=[1 / scale for scale in how.scale],
        offset=[-offset / scale for offset, scale in zip(how.offset, how.scale)],
        name="normalization",
    )(pixels)
