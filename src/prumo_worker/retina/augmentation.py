"""Photographs changed at random while a network is trained, and never when it is judged.

Every change depends on the seed, the epoch and the place in the epoch alone, so that a training
that was stopped goes on as if it had not been.
"""

from __future__ import annotations

import math

import tensorflow as tf

# Cameras and their operators differ by about so much; lesions must stay visible.
_EXPOSURE = 0.2
_GAMMA = 0.2
_HUE = 0.02
_SATURATION = 0.2
_WHITE = 255.0


def augmented(picture: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """A picture (uint8) turned, mirrored and recoloured by a seed of two whole numbers.

    Black stays black: around a fundus there is no light, whatever the camera.
    """
    mirror, angle, exposure, gamma, hue, saturation = tf.unstack(tf.random.split(seed, 6))
    pixels = tf.cast(picture, tf.float32) / _WHITE
    pixels = tf.image.stateless_random_flip_left_right(pixels, mirror)
    pixels = _turned(pixels, _uniform(angle, 0.0, math.pi))
    pixels = pixels ** _uniform(gamma, 1.0, _GAMMA) * _uniform(exposure, 1.0, _EXPOSURE)
    pixels = tf.clip_by_value(pixels, 0.0, 1.0)
    pixels = tf.image.stateless_random_hue(pixels, _HUE, hue)
    pixels = tf.image.stateless_random_saturation(
        pixels, 1 - _SATURATION, 1 + _SATURATION, saturation
    )
    return tf.clip_by_value(pixels, 0.0, 1.0) * _WHITE


def _uniform(seed: tf.Tensor, middle: float, reach: float) -> tf.Tensor:
    return tf.random.stateless_uniform([], seed, middle - reach, middle + reach)


def _turned(pixels: tf.Tensor, angle: tf.Tensor) -> tf.Tensor:
    """Rotated about the centre, which is that of the fundus; what comes from outside is black."""
    size = tf.cast(tf.shape(pixels)[0], tf.float32) - 1
    cosine, sine = tf.cos(angle), tf.sin(angle)
    across = (size - (cosine * size - sine * size)) / 2
    down = (size - (sine * size + cosine * size)) / 2
    transform = tf.stack([cosine, -sine, across, sine, cosine, down, 0.0, 0.0])
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=pixels[None],
        transforms=transform[None],
        output_shape=tf.shape(pixels)[:2],
        interpolation="BILINEAR",
        fill_mode="CONSTANT",
        fill_value=0.0,
    )[0]
