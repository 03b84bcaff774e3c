"""Weights of other programs put into a Keras backbone, each array exactly where it belongs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from prumo_worker.failure import DataError
from prumo_worker.retina.array_names import Offer, layers_with_weights, offers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import keras

_COUNTER = "num_batches_tracked"
# What is no part of a backbone without being a dense layer: MobileNet's classifier of 1x1
# convolutions, Inception's second classifier, the scaling of pixels in EfficientNet and in a model
# of Prumo, and the latter's scaling of features.
_TOP = re.compile(r"conv_preds/|AuxLogits\.|normalization(_\d+)?/|standardize/")
_TOLD_NAMES = 4


def fill(network: keras.Model, name: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Give every weight of the network its array; tell what was loaded and what was left over.

    Args:
        network: a backbone, in PyTorch's form for arrays of PyTorch.
        name: the backbone's, as in `backbones.NAMES`.
        arrays: of Keras, of a state dict with the names of torchvision or timm, or of ONNX.
    """
    offered = offers(network, name, {k: a for k, a in arrays.items() if not k.endswith(_COUNTER)})
    values = []
    for layer_name, layer in layers_with_weights(network).items():
        for index, weight in enumerate(layer.weights):
            keys = (f"{layer_name}/{weight.name}", f"{layer_name}/{index}")
            offer = _taken(offered, keys, tuple(weight.shape))
            values.append((weight, _fitted(offer, keys[0], tuple(weight.shape))))
    _check_leftovers(name, offered)
    # Only now, so that a misfit leaves the network as it was.
    for weight, value in values:
        weight.assign(value)
    left = f", {_few(offer.name for offer in offered.values())} left over" if offered else ""
    return f"{len(values)} arrays{left}"


def _taken(offered: dict[str, Offer], keys: tuple[str, ...], shape: tuple[int, ...]) -> Offer:
    for key in keys:
        if key in offered:
            return offered.pop(key)
    names = [offer.name for offer in offered.values()]
    raise DataError(
        f"the weights have nothing for {keys[0]} of shape {shape}; "
        + (f"what they still have is {_few(names)}" if names else "nothing of them is left")
    )


def _fitted(offer: Offer, key: str, shape: tuple[int, ...]) -> np.ndarray:
    if offer.array.shape != shape:
        raise DataError(
            f"{key} wants the shape {shape}, but the array {offer.name!r} has "
            f"{offer.array.shape} in Keras's order of axes"
        )
    # A double that is too large for a float becomes infinite here.
    with np.errstate(over="ignore"):
        value = offer.array.astype(np.float32)
    if not np.issubdtype(offer.array.dtype, np.floating) or not np.isfinite(value).all():
        raise DataError(f"the array {offer.name!r} has values that are no finite numbers")
    return value


def _check_leftovers(name: str, offered: Mapping[str, Offer]) -> None:
    """Only a classifier may be left over: anything else is another network's."""
    dense = {_owner(key) for key, offer in offered.items() if np.ndim(offer.array) == 2}  # noqa: PLR2004
    foreign = [
        offer.name
        for key, offer in offered.items()
        if _owner(key) not in dense and not _TOP.match(key)
    ]
    if foreign:
        raise DataError(f"the weights are not of {name}, which has no place for {_few(foreign)}")


def _owner(key: str) -> str:
    """The layer or module that an array belongs to."""
    return key.rpartition("/" if "/" in key else ".")[0]


def _few(names: Iterable[str]) -> str:
    every = list(names)
    more = len(every) - _TOLD_NAMES
    return ", ".join(every[:_TOLD_NAMES]) + (f" and {more} more" if more > 0 else "")
