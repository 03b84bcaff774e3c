"""Each operation of a network as Caffe layers that compute exactly the same."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from caffe.proto.caffe_pb2 import LayerParameter, PoolingParameter

from prumo_worker.failure import Unavailable
from prumo_worker.networks import layer
from prumo_worker.networks.margin import rounded_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prumo_worker.networks.layer.pooling import Pooling
    from prumo_worker.networks.network import Node

    Layers = Iterator[LayerParameter]


def caffe_layers(node: Node, bottoms: Sequence[str], top: str) -> Layers:
    """The layers of a node, from the blobs `bottoms` to the blob `top`."""
    return _LAYERS[type(node.operation)](node.operation, node, bottoms, top)


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


def _plain(
    operation: layer.Operation, node: Node, bottoms: Sequence[str], top: str, *, kind: str
) -> Layers:
    del operation
    yield _layer(node.name, kind, bottoms, top)


def _convolution(
    operation: layer.Convolution, node: Node, bottoms: Sequence[str], top: str
) -> Layers:
    height, width = layer.pair(operation.kernel)
    vertical, horizontal = layer.pair(operation.padding)
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
    yield _layer(node.name, "Convolution", bottoms, top, convolution_param=settings)


def _dense(operation: layer.Dense, node: Node, bottoms: Sequence[str], top: str) -> Layers:
    settings = {"num_output": operation.outputs, "bias_term": operation.bias}
    yield _layer(node.name, "InnerProduct", bottoms, top, inner_product_param=settings)


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


def _between_zeros(
    image: str, name: str, axis: int, before: layer.Shape, after: layer.Shape
) -> Layers:
    """An image joined to zeros on two sides; a side without extent is left out."""
    parts = {f"{name}/before": before, image: (), f"{name}/after": after}
    for margin, shape in parts.items():
        if shape and all(shape):
            yield input_layer(margin, (1, *shape))
    joined = [part for part, shape in parts.items() if all(shape)]
    yield _layer(name, "Concat", joined, name, concat_param={"axis": axis})


def _pooling(
    operation: Pooling, node: Node, bottoms: Sequence[str], top: str, *, pool: int
) -> Layers:
    if pool == PoolingParameter.AVE and operation.padding:
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
        "pool": pool,
        "kernel_size": operation.kernel,
        "stride": operation.stride,
        "pad": operation.padding,
        "round_mode": PoolingParameter.CEIL if operation.ceil else PoolingParameter.FLOOR,
    }
    yield _layer(node.name, "Pooling", bottoms, top, pooling_param=settings)


def _global_average(
    operation: layer.GlobalAveragePooling, node: Node, bottoms: Sequence[str], top: str
) -> Layers:
    del operation
    means = f"{node.name}/means"
    settings = {"pool": PoolingParameter.AVE, "global_pooling": True}
    yield _layer(means, "Pooling", bottoms, means, pooling_param=settings)
    yield _layer(node.name, "Flatten", [means], top)


def _clipped_rectifier(
    operation: layer.ClippedRectifier, node: Node, bottoms: Sequence[str], top: str
) -> Layers:
    settings = {"min": 0, "max": operation.limit}
    yield _layer(node.name, "Clip", bottoms, top, clip_param=settings)


def _dropout(operation: layer.Dropout, node: Node, bottoms: Sequence[str], top: str) -> Layers:
    yield _layer(
        node.name, "Dropout", bottoms, top, dropout_param={"dropout_ratio": operation.rate}
    )


def _local_response(
    operation: layer.LocalResponseNormalization, node: Node, bottoms: Sequence[str], top: str
) -> Layers:
    settings = {
        "local_size": operation.size,
        "alpha": operation.alpha,
        "beta": operation.beta,
        "k": operation.k,
    }
    yield _layer(node.name, "LRN", bottoms, top, lrn_param=settings)


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


_LAYERS: dict[type[layer.Operation], Callable[[Any, Node, Sequence[str], str], Layers]] = {
    layer.Convolution: _convolution,
    layer.Padding: _padding,
    layer.MaxPooling: partial(_pooling, pool=PoolingParameter.MAX),
    layer.AveragePooling: partial(_pooling, pool=PoolingParameter.AVE),
    layer.GlobalAveragePooling: _global_average,
    layer.Flatten: partial(_plain, kind="Flatten"),
    layer.Dense: _dense,
    layer.Rectifier: partial(_plain, kind="ReLU"),
    layer.ClippedRectifier: _clipped_rectifier,
    layer.Tanh: partial(_plain, kind="TanH"),
    layer.Dropout: _dropout,
    layer.LocalResponseNormalization: _local_response,
    layer.BatchNormalization: _batch_normalization,
    layer.Add: partial(_plain, kind="Eltwise"),
    layer.Concatenate: partial(_plain, kind="Concat"),
}
