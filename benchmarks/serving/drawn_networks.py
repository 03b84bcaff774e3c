"""Study 3's networks with weights that are drawn.

Run by the environment of TensorFlow:

    python drawn_networks.py mobilenet|vgg19 FILE.keras

Ends with an error when the network has not as many parameters as the study says.
"""

from __future__ import annotations

import sys

import keras
import numpy as np

SIZE = 224
CLASSES = 5
PARAMETERS = {"mobilenet": 3_377_221, "vgg19": 20_107_205}
BACKBONES = {"mobilenet": keras.applications.MobileNet, "vgg19": keras.applications.VGG19}


def drawn(name: str) -> keras.Model:
    backbone = BACKBONES[name](
        weights=None, include_top=False, input_shape=(SIZE, SIZE, 3), pooling="avg"
    )
    hidden = keras.layers.Dense(128, activation="relu")(backbone.output)
    hidden = keras.layers.Dense(128, activation="relu")(hidden)
    probabilities = keras.layers.Dense(CLASSES, activation="softmax")(hidden)
    model = keras.Model(backbone.input, probabilities)
    draw_weights(model)
    assert model.count_params() == PARAMETERS[name], model.count_params()
    return model


def draw_weights(model: keras.Model) -> None:
    """As He et al. 2015 draw them: with Keras' own, nothing of an image would reach the end."""
    rng = np.random.default_rng(1)
    for layer in model.layers:
        weights = layer.get_weights()
        if weights and weights[0].ndim > 1:
            kernel = weights[0]
            is_depthwise = isinstance(layer, keras.layers.DepthwiseConv2D)
            inputs = np.prod(kernel.shape[:2] if is_depthwise else kernel.shape[:-1])
            weights[0] = rng.normal(0, np.sqrt(2 / inputs), kernel.shape).astype(np.float32)
            layer.set_weights(weights)


if __name__ == "__main__":
    drawn(sys.argv[1]).save(sys.argv[2])
