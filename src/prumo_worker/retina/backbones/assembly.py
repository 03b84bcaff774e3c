"""Backbones in Keras: built, and filled with weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.failure import Unavailable
from prumo_worker.retina.array_names import are_of_pytorch, fill
from prumo_worker.retina.backbones import Backbone
from prumo_worker.retina.backbones.keras import (
    APPLICATIONS,
    application,
    as_in_pytorch,
    efficientnet_lite0,
)
from prumo_worker.retina.backbones.names import CENTRED, FACTS, IMAGENET, LITE, Normalization

if TYPE_CHECKING:
    from collections.abc import Mapping

    import keras
    import numpy as np

_LITE0 = "efficientnet_lite0"
# torchvision's Inception was ported from TensorFlow and takes its pixels; timm's MobileNet too.
_CENTRED_IN_PYTORCH = {"inception_v3", "mobilenet"}


def assembled(
    name: str,
    image_size: int,
    arrays: Mapping[str, np.ndarray] | None,
    *,
    library_weights: bool,
) -> Backbone:
    """See `build_backbone`."""
    of_pytorch = arrays is not None and are_of_pytorch(arrays)
    network = _network(name, image_size, library_weights=library_weights, of_pytorch=of_pytorch)
    if arrays is not None:
        weights = fill(network, name, arrays)
    else:
        weights = "library" if library_weights else "scratch"
    normalization = _normalization(name, of_pytorch=of_pytorch)
    return Backbone(network, normalization, weights, FACTS[name].native_size)


def _network(name: str, image_size: int, *, library_weights: bool, of_pytorch: bool) -> keras.Model:
    if name == _LITE0:
        if library_weights:
            raise Unavailable(f"Keras has no weights of {name} of its own")
        return efficientnet_lite0(image_size)
    network = application(name, image_size, library_weights=library_weights)
    return as_in_pytorch(network, name) if of_pytorch else network


def _normalization(name: str, *, of_pytorch: bool) -> Normalization:
    """What the pixels must be like depends on whose weights these are."""
    if name == _LITE0:
        return LITE
    if of_pytorch:
        return CENTRED if name in _CENTRED_IN_PYTORCH else IMAGENET
    return APPLICATIONS[name].normalization
