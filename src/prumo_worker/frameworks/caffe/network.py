"""A network in Caffe: each operation as layers that compute exactly the same, and the solver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import caffe
from caffe.proto.caffe_pb2 import LayerParameter, NetParameter, PoolingParameter, SolverParameter

from prumo_worker.networks import Network, layer
from prumo_worker.networks.layer import Pooling, rounded_up
from prumo_worker.networks.network import IMAGE, Node
from prumo_worker.networks.operation import Operation, Shape, pair
from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    import numpy as np

    from prumo_worker.recipe import Recipe

Layers = Iterator[LayerParameter]

LABELS = "/labels"
_TRAINING = {"phase": caffe.TRAIN}

# Which operations may write over the output of which, as no gradient needs what was there.
_OVERWRITABLE: dict[type[Operation], tuple[type[Operation], ...]] = {
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
    overwriting = _overwriting(network)
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
    scores = {blobs[head]: weight for head, weight in network.heads.items()}
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


def _overwriting(network: Network) -> set[str]:
    """The nodes that can compute in place, which spares memory."""
    operations = {node.name: node.operation for node in network.nodes}
    sources = (source for node in network.nodes for source in node.inputs)
    readers = Counter([*network.heads, *sources])

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


def caffe_layers(node: Node, bottoms: Sequence[str], top: str) -> Layers:
    """The layers of a node, from the blobs `bottoms` to the blob `top`."""
    kind = type(node.operation)
    if kind in _SEVERAL:
        return _SEVERAL[kind](node.operation, node, bottoms, top)
    caffe_kind, settings = _SINGLE[kind]
    return iter([_layer(node.name, caffe_kind, bottoms, top, **settings(node.operation, node))])


def input_layer(name: str, shape: Sequence[int]) -> LayerParameter:
    """A blob that is filled from outside, and full of zeros where it is not."""
    settings = {"shape": [{"dim": shape}]}
    return LayerParameter(name=name, type="Input", top=[name], input_param=settings)


def scaling_name(node: Node) -> str:
    """The layer that scales and shifts what Caffe's batch normalisation gives."""
    return f"{node.name}/scale"


def _layer(
    name: str,
    kind: str,
    bottoms: Sequence[str],
    top: str,
    **settings: Any,  # noqa: ANN401 (as many as Caffe has)
) -> LayerParameter:
    return LayerParameter(name=name, type=kind, bottom=bottoms, top=[top], **settings)


def _padding(operation: layer.Padding, node: Node, bottoms: Sequence[str], top: str) -> Layers:
    channels, _, width = node.input_shapes[0]
    height = node.output_shape[1]
    tall = f"{node.name}/tall"
    yield from _between_zeros(
        bottoms[0], tall, 2, (channels, operation.top, width), (channels, operation.bottom, width)
    )
    yield from _between_zeros(
        tall, top, 3, (channels, height, operation.left), (channels, height, operation.right)
    )


def _between_zeros(image: str, name: str, axis: int, before: Shape, after: Shape) -> Layers:
    """An image joined to zeros on two sides; a side without extent is left out."""
    parts = {f"{name}/before": before, image: (), f"{name}/after": after}
    for margin, shape in parts.items():
        if shape and all(shape):
            yield input_layer(margin, (1, *shape))
    joined = [part for part, shape in parts.items() if all(shape)]
    yield _layer(name, "Concat", joined, name, concat_param={"axis": axis})


def _pooling(operation: Pooling, node: Node) -> dict[str, Any]:
    is_average = isinstance(operation, layer.AveragePooling)
    if is_average and operation.padding:
        raise Unavailable(
            f"caffe cannot express layer {node.name}: its mean counts the padding as zeros"
        )
    # Where there is padding, Caffe drops such a window too.
    kept = operation.ceil and not operation.padding
    if kept and node.output_shape[1:] != rounded_up(operation, node.input_shapes[0]):
        raise Unavailable(
            f"caffe cannot express layer {node.name}: it keeps a last window that begins behind "
            "the image"
        )
    settings = {
        "pool": PoolingParameter.AVE if is_average else PoolingParameter.MAX,
        "kernel_size": operation.kernel,
        "stride": operation.stride,
        "pad": operation.padding,
        "round_mode": PoolingParameter.CEIL if operation.ceil else PoolingParameter.FLOOR,
    }
    return {"pooling_param": settings}


def _global_average(
    operation: layer.GlobalAveragePooling, node: Node, bottoms: Sequence[str], top: str
) -> Layers:
    del operation
    means = f"{node.name}/means"
    settings = {"pool": PoolingParameter.AVE, "global_pooling": True}
    yield _layer(means, "Pooling", bottoms, means, pooling_param=settings)
    yield _layer(node.name, "Flatten", [means], top)


def _batch_normalization(
    operation: layer.BatchNormalization, node: Node, bottoms: Sequence[str], top: str
) -> Layers:
    settings = {"moving_average_fraction": operation.momentum, "eps": operation.epsilon}
    yield _layer(node.name, "BatchNorm", bottoms, top, batch_norm_param=settings)
    # In place: what comes between the two layers is needed by neither backwards.
    if operation.scale:
        shift = {"scale_param": {"bias_term": True}}
        yield _layer(scaling_name(node), "Scale", [top], top, **shift)
    else:
        yield _layer(scaling_name(node), "Bias", [top], top)


def _convolution(operation: layer.Convolution, _: Node) -> dict[str, Any]:
    height, width = pair(operation.kernel)
    vertical, horizontal = pair(operation.padding)
    settings = {
        "num_output": operation.outputs,
        "kernel_h": height,
        "kernel_w": width,
        "pad_h": vertical,
        "pad_w": horizontal,
        "stride": [operation.stride],
        "group": operation.groups,
        "bias_term": operation.bias,
    }
    return {"convolution_param": settings}


def _without_settings(*_: object) -> dict[str, Any]:
    return {}


_SEVERAL: dict[type[Operation], Callable[[Any, Node, Sequence[str], str], Layers]] = {
    layer.Padding: _padding,
    layer.GlobalAveragePooling: _global_average,
    layer.BatchNormalization: _batch_normalization,
}
"""What takes several of Caffe's layers."""

_SINGLE: dict[type[Operation], tuple[str, Callable[[Any, Node], dict[str, Any]]]] = {
    layer.Convolution: ("Convolution", _convolution),
    layer.MaxPooling: ("Pooling", _pooling),
    layer.AveragePooling: ("Pooling", _pooling),
    layer.Flatten: ("Flatten", _without_settings),
    layer.Dense: (
        "InnerProduct",
        lambda it, _: {"inner_product_param": {"num_output": it.outputs, "bias_term": it.bias}},
    ),
    layer.Rectifier: ("ReLU", _without_settings),
    layer.ClippedRectifier: ("Clip", lambda it, _: {"clip_param": {"min": 0, "max": it.limit}}),
    layer.Tanh: ("TanH", _without_settings),
    layer.Dropout: ("Dropout", lambda it, _: {"dropout_param": {"dropout_ratio": it.rate}}),
    layer.LocalResponseNormalization: (
        "LRN",
        lambda it, _: {
            "lrn_param": {"local_size": it.size, "alpha": it.alpha, "beta": it.beta, "k": it.k}
        },
    ),
    layer.Add: ("Eltwise", _without_settings),
    layer.Concatenate: ("Concat", _without_settings),
}
"""What is one of Caffe's layers: its type, and its settings by the name of their message."""
