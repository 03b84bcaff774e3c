"""Where the arrays of a network lie in a Caffe net."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.frameworks.caffe.layers import scaling_name
from prumo_worker.networks import layer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import caffe
    import numpy as np

    from prumo_worker.networks import Network
    from prumo_worker.networks.network import Node


def load(network: Network, net: caffe.Net, weights: Mapping[str, np.ndarray]) -> None:
    """Copy weights and state in, under the names of `initial_weights`."""
    for node in network.nodes:
        for part, blob in _blobs(node, net):
            blob.data[...] = weights[f"{node.name}.{part}"]
        if isinstance(node.operation, layer.BatchNormalization):
            _begin_averages(net.params[node.name], node.operation.momentum)


def count(network: Network, net: caffe.Net) -> int:
    """Numbers in all blobs that hold an array of the network."""
    return sum(blob.count for node in network.nodes for _, blob in _blobs(node, net))


def _blobs(node: Node, net: caffe.Net) -> Iterator[tuple[str, caffe.Blob]]:
    """The parts of a node; Caffe keeps them in the order in which a network names them."""
    trained = node.name
    if isinstance(node.operation, layer.BatchNormalization):
        trained = scaling_name(node)
        yield from zip(node.state_shapes, net.params[node.name])
    if node.weight_shapes:
        yield from zip(node.weight_shapes, net.params[trained])


def _begin_averages(blobs: caffe.BlobVec, momentum: float) -> None:
    """Let Caffe's running sums be running averages.

    Caffe adds each batch to `momentum` times the sums and counts batches in the same way. Begun
    at the count that no batch changes, sum / count is the average that a network describes.
    """
    mean, variance, counted = blobs
    steady = 1 / (1 - momentum)
    mean.data[...] *= steady
    variance.data[...] *= steady
    counted.data[...] = steady
