"""A network by its name or its file, and an account of it for people and programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError
from prumo.study.own_network import names_file, read_own_network
from prumo_worker.networks import NetworkError, network
from prumo_worker.networks.catalog import CATALOG
from prumo_worker.networks.definition import operation_name, settings

if TYPE_CHECKING:
    from prumo_worker.networks import Network
    from prumo_worker.networks.network import Node

_IMAGE_SIZE, _CHANNELS, _CLASSES = 224, 3, 1000


def find_network(
    name: str,
    image_size: int | None = None,
    channels: int | None = None,
    classes: int | None = None,
) -> Network:
    """The network, for the images and classes that it was made for where none are given."""
    entry = CATALOG.get(name)
    image_size = image_size or (entry.image_size if entry else _IMAGE_SIZE)
    channels = channels or (entry.channels if entry else _CHANNELS)
    classes = classes or (entry.classes if entry else _CLASSES)
    if names_file(name):
        return read_own_network(name, Path()).build(image_size, channels, classes)
    try:
        return network(name, image_size, channels, classes)
    except NetworkError as error:
        raise InputError(str(error)) from None


def network_account(net: Network) -> dict[str, Any]:
    """What there is to say of a network, layer by layer."""
    channels, image_size, _ = net.input_shape
    return {
        "name": net.name,
        "image_size": image_size,
        "channels": channels,
        "classes": net.classes,
        "parameters": net.parameters,
        "trained_parameters": net.trained_parameters,
        "flops": net.flops,
        "auxiliary": {head.layer: head.weight for head in net.auxiliary},
        "layers": [_layer_account(node) for node in net.nodes],
    }


def _layer_account(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "operation": operation_name(type(node.operation)),
        "settings": settings(node.operation),
        "inputs": node.inputs,
        "output_shape": node.output_shape,
        "parameters": node.parameters,
        "flops": node.flops,
    }
