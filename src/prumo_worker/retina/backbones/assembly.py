"""A backbone put together: its network, filled with weights named as in Keras or PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import keras
import numpy as np

from prumo_worker.retina.backbones import CENTRED, EVEN_PADDING, FACTS, IMAGENET, Backbone
from prumo_worker.retina.backbones.keras import (
    SUFFIX,
    application,
    as_in_pytorch,
    efficientnet_lite0,
)
from prumo_worker.retina.backbones.pytorch_names import modern_spelling, pytorch_modules
from prumo_worker.task import DataError, Unavailable

# Exporters to ONNX often rename arrays; the reader then numbers convolutions in order of use.
_NUMBERED = re.compile(r"conv_\d+\.(weight|bias|scale|shift|mean|variance)")
# In these the convolutions come one after the other, so that their order says which is which.
_CHAINS = ("efficientnet_lite0", "mobilenet", "mobilenet_v2", "vgg19")
_OF_CONVOLUTION = {"weight": "kernel", "bias": "bias"}
_OF_NORMALIZATION = {
    "weight": "gamma",
    "bias": "beta",
    "running_mean": "moving_mean",
    "running_var": "moving_variance",
}
_OF_NUMBERED = {
    "scale": "gamma",
    "shift": "beta",
    "mean": "moving_mean",
    "variance": "moving_variance",
}
# Keras counts layers without a name of their own over a whole process, so only their order counts.
_COUNTED_LAYER = re.compile(r"(conv2d|batch_normalization)(?:_(\d+))?")

_COUNTER = "num_batches_tracked"
# What is no part of a backbone without being a dense layer: MobileNet's classifier of 1x1
# convolutions, Inception's second classifier, the scaling of pixels in EfficientNet and in a model
# of Prumo, and the latter's scaling of features.
_TOP = re.compile(r"conv_preds/|AuxLogits\.|normalization(_\d+)?/|standardize/")
_SHOWN_NAMES = 4
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
    """See `build_backbone`; what the pixels must be like depends on whose weights these are."""
    of_pytorch = arrays is not None and are_of_pytorch(arrays)
    normalization = FACTS[name].normalization
    if name == _LITE0:
        if library_weights:
            raise Unavailable(f"Keras has no weights of {name} of its own")
        network = efficientnet_lite0(image_size)
    else:
        network = application(name, image_size, library_weights=library_weights)
        if of_pytorch:
            network = as_in_pytorch(network, name)
            normalization = CENTRED if name in _CENTRED_IN_PYTORCH else IMAGENET
    if arrays is not None:
        weights = fill(network, name, arrays)
    else:
        weights = "library" if library_weights else "scratch"
    return Backbone(network, normalization, weights)


@dataclass(frozen=True)
class Offer:
    """An array in Keras's order of axes, and what its source calls it."""

    name: str
    array: np.ndarray


def are_of_pytorch(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether the network that these belong to computes as PyTorch does."""
    if any(_NUMBERED.fullmatch(name) for name in arrays):
        return EVEN_PADDING in arrays
    of_keras = [name for name in arrays if "/" in name]
    # Keras also saves what Prumo once filled with weights of PyTorch.
    return not of_keras or any(name.rpartition("/")[0].endswith(SUFFIX) for name in of_keras)


def offers(network: keras.Model, name: str, arrays: Mapping[str, np.ndarray]) -> dict[str, Offer]:
    """The arrays by `layer/variable`; those of no known layer keep their own name."""
    if any("/" in key for key in arrays):
        return _of_keras(arrays)
    if any(_NUMBERED.fullmatch(key) for key in arrays):
        return dict(_of_numbered(network, name, arrays))
    return dict(_of_pytorch(network, name, arrays))


def layers_with_weights(network: keras.Model) -> dict[str, keras.Layer]:
    """By names that do not depend on what was built before."""
    layers = {_bare(layer.name): layer for layer in network.layers if layer.weights}
    names = _counted_anew(layers)
    return {names.get(name, name): layer for name, layer in layers.items()}


def _of_keras(arrays: Mapping[str, np.ndarray]) -> dict[str, Offer]:
    layers = {key: _bare(key.rpartition("/")[0]) for key in arrays}
    names = _counted_anew(layers.values())
    return {
        f"{names.get(layer, layer)}/{key.rpartition('/')[2]}": Offer(key, arrays[key])
        for key, layer in layers.items()
    }


def _of_pytorch(
    network: keras.Model, name: str, arrays: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, Offer]]:
    modules = {module: layer for layer, module in pytorch_modules(name).items()}
    if not modules:
        raise DataError(f"weights of {name} can come from a file of Keras only")
    layers = layers_with_weights(network)
    for key, array in arrays.items():
        module, _, variable = modern_spelling(key).rpartition(".")
        layer_name = modules.get(module, "")
        layer = layers.get(layer_name)
        is_normalization = isinstance(layer, keras.layers.BatchNormalization)
        known = _OF_NORMALIZATION if is_normalization else _OF_CONVOLUTION
        if layer is not None and variable in known:
            yield f"{layer_name}/{known[variable]}", Offer(key, _in_keras_order(layer, array))
        else:
            yield key, Offer(key, array)


def _of_numbered(
    network: keras.Model, name: str, arrays: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, Offer]]:
    if name not in _CHAINS:
        raise DataError(
            f"the arrays have lost the names of their layers, and {name} has branches, so that "
            "their order does not tell which is which; give a file of Keras or PyTorch"
        )
    used = set()
    for number, (convolution, normalization) in enumerate(_pairs(network)):
        own = {
            key.rpartition(".")[2]: Offer(key, array)
            for key, array in arrays.items()
            if key.startswith(f"conv_{number}.")
        }
        used |= {offer.name for offer in own.values()}
        if normalization is not None and "scale" not in own and "bias" in own:
            yield from _unfolded(normalization, own.pop("bias"))
        for part, offer in own.items():
            layer = normalization if part in _OF_NUMBERED else convolution
            variable = _OF_NUMBERED.get(part) or _OF_CONVOLUTION[part]
            owner = _bare(layer.name) if layer is not None else f"conv_{number}"
            yield f"{owner}/{variable}", Offer(offer.name, _in_keras_order(layer, offer.array))
    used.add(EVEN_PADDING)
    yield from ((key, Offer(key, array)) for key, array in arrays.items() if key not in used)


def _pairs(network: keras.Model) -> Iterator[tuple[keras.Layer, keras.Layer | None]]:
    """Each convolution with the normalization that follows it."""
    layers = [layer for layer in network.layers if layer.weights]
    for layer, following in zip(layers, [*layers[1:], None]):
        if not isinstance(layer, keras.layers.BatchNormalization):
            is_normalized = isinstance(following, keras.layers.BatchNormalization)
            yield layer, following if is_normalized else None


def _unfolded(layer: keras.Layer, bias: Offer) -> Iterator[tuple[str, Offer]]:
    """A normalization that only adds, as its factor is in the convolution before it already."""
    ones = np.ones_like(bias.array)
    values = {
        "gamma": ones,
        "beta": bias.array,
        "moving_mean": 0 * ones,
        "moving_variance": (1 - layer.epsilon) * ones,
    }
    owner = _bare(layer.name)
    return ((f"{owner}/{key}", Offer(bias.name, value)) for key, value in values.items())


def _in_keras_order(layer: keras.Layer | None, array: np.ndarray) -> np.ndarray:
    """Others have (outputs, inputs, rows, columns); Keras has rows and columns first."""
    if np.ndim(array) != 4:  # noqa: PLR2004 (only kernels have four axes)
        return array
    if isinstance(layer, keras.layers.DepthwiseConv2D):
        return array.transpose(2, 3, 0, 1)
    return array.transpose(2, 3, 1, 0)


def _bare(layer: str) -> str:
    return layer.removesuffix(SUFFIX)


def _counted_anew(layers: Iterable[str]) -> dict[str, str]:
    """`conv2d_95`, `conv2d_94` → `conv2d_1`, `conv2d`."""
    numbers: dict[str, dict[int, str]] = {}
    for layer in layers:
        if match := _COUNTED_LAYER.fullmatch(layer):
            numbers.setdefault(match[1], {})[int(match[2] or 0)] = layer
    return {
        layer: f"{kind}_{rank}" if rank else kind
        for kind, counted in numbers.items()
        for rank, (_, layer) in enumerate(sorted(counted.items()))
    }


def fill(network: keras.Model, name: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Give every weight of the network its array; tell what was loaded and what was left over.

    Arrays are of Keras, of a state dict with the names of torchvision or timm, or of ONNX; those of
    PyTorch want the network in PyTorch's form.
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
    more = len(every) - _SHOWN_NAMES
    return ", ".join(every[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
