"""A network and its solver as the messages that Caffe reads from prototxt files."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import caffe
from caffe.proto.caffe_pb2 import LayerParameter, NetParameter, SolverParameter

from prumo_worker.frameworks.caffe.layers import caffe_layers, input_layer
from prumo_worker.networks import layer
from prumo_worker.networks.network import IMAGE

if TYPE_CHECKING:
    from prumo_worker.networks import Network
    from prumo_worker.networks.network import Node
    from prumo_worker.recipe import Recipe

LABELS = "/labels"

_TRAINING = {"phase": caffe.TRAIN}

# Which operations may write over the output of which, as no gradient needs what was there.
_OVERWRITABLE: dict[type[layer.Operation], tuple[type[layer.Operation], ...]] = {
    layer.BatchNormalization: (layer.Convolution, layer.Add),
    **dict.fromkeys(
        (layer.Rectifier, layer.Tanh, layer.Dropout),
        (layer.Convolution, layer.Dense, layer.BatchNormalization, layer.Add, layer.Rectifier),
    ),
}


class Description(NamedTuple):
    """A network in Caffe's words: in training with its losses, in testing without."""

    net: NetParameter
    inputs: list[str]
    """The blobs that are put in beside the labels: the image, and zeros around images."""
    heads: dict[str, float]
    """The blobs of class scores, the main one first, and the weights of their losses."""

    @property
    def scores(self) -> str:
        """The blob of the main class scores."""
        return next(iter(self.heads))

    def for_batch(self, images: int) -> NetParameter:
        """The same for batches of another size."""
        net = NetParameter()
        net.CopyFrom(self.net)
        for part in net.layer:
            for shape in part.input_param.shape:
                shape.dim[0] = images
        return net


def describe(network: Network, *, dropout: bool) -> Description:
    """A network for single images."""
    net = NetParameter(name=network.name)
    net.layer.extend([input_layer(IMAGE, (1, *network.input_shape))])
    blobs = {IMAGE: IMAGE}
    heads = {network.nodes[-1].name: 1.0, **{head.layer: head.weight for head in network.auxiliary}}
    overwriting = _overwriting(network, heads)
    for node in network.nodes:
        bottoms = [blobs[source] for source in node.inputs]
        if isinstance(node.operation, layer.Dropout) and not (dropout and node.operation.rate):
            blobs[node.name] = bottoms[0]
            continue
        blobs[node.name] = bottoms[0] if node.name in overwriting else node.name
        net.layer.extend(caffe_layers(node, bottoms, blobs[node.name]))
    inputs = [part.name for part in net.layer if part.type == "Input"]
    labels = input_layer(LABELS, (1,))
    labels.include.add(**_TRAINING)
    scores = {blobs[head]: weight for head, weight in heads.items()}
    net.layer.extend([labels, *(_loss(blob, weight) for blob, weight in scores.items())])
    return Description(net, inputs, scores)


def solver_parameter(recipe: Recipe, net_file: str) -> SolverParameter:
    """How the weights are updated; the solver prints, tests and saves nothing."""
    solver = SolverParameter(
        net=net_file,
        base_lr=recipe.learning_rate,
        lr_policy="fixed",
        weight_decay=recipe.weight_decay,
        random_seed=recipe.seed,
        solver_mode=SolverParameter.CPU,
        snapshot_after_train=False,
    )
    if recipe.optimizer == "adam":
        solver.MergeFrom(SolverParameter(type="Adam", momentum=0.9, momentum2=0.999, delta=1e-8))
    else:
        solver.MergeFrom(SolverParameter(type="SGD", momentum=recipe.momentum))
    return solver


def _overwriting(network: Network, heads: dict[str, float]) -> set[str]:
    """The nodes that can compute in place, which spares memory."""
    operations = {node.name: node.operation for node in network.nodes}
    readers = Counter([*heads, *(source for node in network.nodes for source in node.inputs)])

    def overwrites(node: Node) -> bool:
        source = node.inputs[0]
        overwritable = _OVERWRITABLE.get(type(node.operation), ())
        return readers[source] == 1 and isinstance(operations.get(source), overwritable)

    return {node.name for node in network.nodes if overwrites(node)}


def _loss(scores: str, weight: float) -> LayerParameter:
    return LayerParameter(
        name=f"{scores}/loss",
        type="SoftmaxWithLoss",
        bottom=[scores, LABELS],
        top=[f"{scores}/loss"],
        loss_weight=[weight],
        include=[_TRAINING],
    )
