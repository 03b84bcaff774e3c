"""A network's nodes over TensorFlow's variables, computed in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from prumo_worker.frameworks.layout import channels_last_weights
from prumo_worker.frameworks.tensorflow.operations import Call, compute
from prumo_worker.networks.network import IMAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo_worker.networks import Network
    from prumo_worker.networks.layer import Shape
    from prumo_worker.networks.network import Node


class Graph:
    """The variables of a network; its outputs, asked for in a `tf.function`, become a graph."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._outputs = (network.nodes[-1].name, *(head.layer for head in network.auxiliary))
        self._arrays = {node.name: _variables(node) for node in network.nodes}
        variables = [array for arrays in self._arrays.values() for array in arrays.values()]
        self.trained = [variable for variable in variables if variable.trainable]
        self.parameters = sum(int(np.prod(variable.shape)) for variable in variables)

    def outputs(
        self, images: tf.Tensor, *, training: bool, seed: tf.Tensor | None = None
    ) -> list[tf.Tensor]:
        """The class scores, then those of the auxiliary heads, in fp32 for the softmax."""
        values = {IMAGE: images}
        for node in self._network.nodes:
            inputs = [values[source] for source in node.inputs]
            call = Call(inputs, self._arrays[node.name], training, seed)
            values[node.name] = compute(node, call)
        return [tf.cast(values[name], tf.float32) for name in self._outputs]

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy weights and state in, under the names of `initial_weights`."""
        turned = channels_last_weights(self._network, weights)
        for node, arrays in self._arrays.items():
            for part, variable in arrays.items():
                variable.assign(turned[f"{node}.{part}"])


def _variables(node: Node) -> dict[str, tf.Variable]:
    shapes = {**node.weight_shapes, **node.state_shapes}
    return {
        part: tf.Variable(tf.zeros(_turned(shape)), trainable=part in node.weight_shapes)
        for part, shape in shapes.items()
    }


def _turned(shape: Shape) -> Shape:
    """The shape of an array after `channels_last_weights`."""
    outputs, *inputs = shape
    # (outputs, inputs, height, width) → (height, width, inputs, outputs)
    return (*inputs[1:], *inputs[:1], outputs)
