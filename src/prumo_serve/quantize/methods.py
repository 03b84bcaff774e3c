"""Smaller numbers for an ONNX network: half precision, static int8 and dynamic int8."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.quantization import (
    QuantFormat,
    QuantType,
    quant_pre_process,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.quantization.onnx_model import ONNXModel
from onnxruntime.transformers.float16 import convert_float_to_float16

from prumo.errors import InputError, UnavailableError
from prumo_serve.quantize.calibration import NEEDS_IMAGES

DENSE = ("Gemm", "MatMul")
WEIGHTED = ("Conv", *DENSE)
"""Operations with weights: nearly all of a network's size and time."""


_BETWEEN = ("Add", "AveragePool", "Clip", "Concat", "GlobalAveragePool", "MaxPool", "Relu")
"""What stands between operations with weights and would else need 32 bits on its way."""


def quantize_onnx(
    network: Path,
    out: Path,
    precision: str,
    input_tensor: str,
    images: Iterable[np.ndarray] | None = None,
) -> None:
    """Write an ONNX network of 32-bit numbers with smaller ones.

    Images are batches to calibrate with, which can be gone through several times, such as
    `CalibrationImages`; what does not need them is the nearer to the original for them.
    """
    if precision not in _METHODS:
        raise UnavailableError(
            f"there is no way to make {precision} of an ONNX network; there are "
            f"{', '.join(_METHODS)}"
        )
    _METHODS[precision](network, out, input_tensor, images)


def static_int8(
    network: Path, out: Path, input_tensor: str, images: Iterable[np.ndarray] | None
) -> None:
    """A quarter of the size and up to half the time.

    Weights have a scale for each channel. They take 7 of the 8 bits, because processors without
    VNNI add two products in 16 bits, which 8 would overflow: measured on a small model there, the
    probabilities are 0.014 from the original's in the mean instead of 0.063, where without
    overflow 8 bits would leave 0.009. Then biases make up for what rounding shifts.
    """
    if images is None:
        raise InputError(NEEDS_IMAGES)
    with _folded(network) as (folded, graph):
        quantize_static(
            folded,
            out,
            _Reader(input_tensor, images),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=[*WEIGHTED, *_BETWEEN],
            nodes_to_exclude=outer_nodes(graph.node),
            per_channel=True,
            reduce_range=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )
        correct_biases(folded, out, input_tensor, images)


class _Reader:
    """Hands over one batch after the other, as ONNX Runtime asks for them."""

    def __init__(self, input_tensor: str, images: Iterable[np.ndarray]) -> None:
        self._name = input_tensor
        self._images = iter(images)

    def get_next(self) -> dict[str, Any] | None:
        batch = next(self._images, None)
        return None if batch is None else {self._name: batch}


def dynamic_int8(
    network: Path, out: Path, input_tensor: str, images: Iterable[np.ndarray] | None
) -> None:
    """A third of the size without any image; convolutions take longer than in 32 bits.

    With images, a wrong mean of the scores is put right.
    """
    with _folded(network) as (folded, graph):
        quantize_dynamic(
            folded,
            out,
            op_types_to_quantize=list(WEIGHTED),
            # Without images there is one scale for all channels of a convolution.
            nodes_to_exclude=[*outer_nodes(graph.node), *delicate_convolutions(graph.node)],
            # Unsigned, because ONNX Runtime's kernels overflow with signed weights, as in int8.
            weight_type=QuantType.QUInt8,
        )
        if images is not None:
            correct_biases(folded, out, input_tensor, images)


def half_precision(
    network: Path, out: Path, input_tensor: str, images: Iterable[np.ndarray] | None
) -> None:
    """Half the size; a processor without such arithmetic turns every number back first."""
    del input_tensor, images
    model = ONNXModel(convert_float_to_float16(onnx.load(network), keep_io_types=True))
    # The conversions at the inputs were put at the end, where no other runtime looks for them.
    model.topological_sort()
    onnx.save(model.model, out)


_METHODS = {"fp16": half_precision, "int8": static_int8, "int8-dynamic": dynamic_int8}


@contextmanager
def _folded(network: Path) -> Iterator[tuple[Path, onnx.GraphProto]]:
    """The network with its constants and normalizations folded into the weights."""
    with tempfile.TemporaryDirectory(prefix="prumo-quantize-") as scratch:
        folded = Path(scratch) / "folded.onnx"
        # Shapes by symbols are for language models and would need a package more.
        quant_pre_process(network, folded, skip_symbolic_shape=True)
        _name_nodes(folded)
        yield folded, onnx.load(folded, load_external_data=False).graph


def _name_nodes(network: Path) -> None:
    """Give every node a name of its own: by it, some are left out and others put right.

    ONNX leaves names open, and one that several nodes share would stand for all of them.
    """
    model = onnx.load(network)
    names = [node.name for node in model.graph.node]
    if len(set(names)) == len(names) and "" not in names:
        return
    for place, node in enumerate(model.graph.node):
        node.name = f"{node.op_type} {place}"
    onnx.save(model, network)


def outer_nodes(nodes: Iterable[onnx.NodeProto]) -> list[str]:
    """The names of what comes before the first weights, and from the last dense layer on.

    Pixels are normalized before the first, and scores are added up in the last: both are cheap, and
    an error in them is in every answer.
    """
    everything = list(nodes)
    inner = _reached(everything, [node for node in everything if node.op_type in WEIGHTED])
    before = [node for place, node in enumerate(everything) if place not in inner]
    dense = [node for node in everything if node.op_type in DENSE]
    after = _reached(everything, dense[-1:])
    return [node.name for node in before] + [everything[place].name for place in sorted(after)]


def delicate_convolutions(nodes: Iterable[onnx.NodeProto]) -> list[str]:
    """The names of those that one scale for all channels ruins: the first, and depthwise ones.

    Each of their filters sees few numbers, and filters differ much in size.
    """
    convolutions = [node for node in nodes if node.op_type == "Conv"]
    return [
        node.name
        for place, node in enumerate(convolutions)
        if place == 0 or any(part.name == "group" and part.i > 1 for part in node.attribute)
    ]


def _reached(nodes: list[onnx.NodeProto], starts: list[onnx.NodeProto]) -> set[int]:
    """The places of some nodes and of all that depends on them; a graph is in such an order."""
    names = {name for node in starts for name in node.output}
    places = set()
    for place, node in enumerate(nodes):
        if names.intersection(node.output) or names.intersection(node.input):
            places.add(place)
            names.update(node.output)
    return places


_ERRORS_ONLY = 3


def inner_means(
    network: Path,
    input_tensor: str,
    images: Iterable[np.ndarray],
    *,
    maps: Collection[str] = (),
    rows: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """The mean of each channel of tensors inside a network, over batches of the same size.

    `maps` are tensors of (image, channel, row, column), `rows` of (image, channel).
    """
    model = onnx.load(network)
    wanted = {name: f"mean of {name}" for name in maps} | {name: name for name in rows}
    for name in maps:
        model.graph.node.append(helper.make_node("GlobalAveragePool", [name], [wanted[name]]))
    there = {output.name for output in model.graph.output}
    new = [name for name in wanted.values() if name not in there]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in new)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    sums = [np.zeros(1) for _ in wanted]
    count = 0
    for batch in images:
        values = session.run(list(wanted.values()), {input_tensor: batch})
        sums = [
            total + value.reshape(len(value), -1).mean(axis=0, dtype=np.float64)
            for total, value in zip(sums, values, strict=True)
        ]
        count += 1
    return {name: total / count for name, total in zip(wanted, sums, strict=True)}


_WEIGHTS, _BIAS = 1, 2


def correct_biases(
    original: Path, quantized: Path, input_tensor: str, images: Iterable[np.ndarray]
) -> None:
    """Change a quantized network's biases so that means over the images are the original's.

    Rounding a filter's weights shifts its output by the rounding errors times the mean of what it
    sees, for every image the same way, and the next filters carry that on: Nagel et al. (2019),
    "Data-Free Quantization Through Weight Equalization and Bias Correction", section 4.2. What is
    left of it in the scores, where thresholds are, is taken off the last layer.

    Convolutions whose weights were not rounded, or that have no bias, are left as they are.
    """
    first = onnx.load(original)
    seen = {node.name: node.input[0] for node in first.graph.node if node.op_type == "Conv"}
    last = _last_layer(first)
    scores = [node.output[0] for node in last]
    means = inner_means(original, input_tensor, images, maps=set(seen.values()), rows=scores)
    model = onnx.load(quantized)
    _correct_convolutions(model, first, {name: means[seen[name]] for name in seen})
    onnx.save(model, quantized)
    for node in last:
        now = inner_means(quantized, input_tensor, images, rows=scores)
        shift = means[node.output[0]] - now[node.output[0]]
        # Whatever became of the node that uses it.
        bias = next(one for one in model.graph.initializer if one.name == node.input[_BIAS])
        _set(bias, numpy_helper.to_array(bias) + shift.astype(np.float32))
        onnx.save(model, quantized)


def _last_layer(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """The last dense layer, if it has a bias that can be changed; it is never rounded."""
    last = [node for node in model.graph.node if node.op_type in DENSE][-1:]
    constants = {tensor.name for tensor in model.graph.initializer}
    return [node for node in last if constants.intersection(node.input[_BIAS:])]


def _correct_convolutions(
    model: onnx.ModelProto, original: onnx.ModelProto, means: Mapping[str, np.ndarray]
) -> None:
    before = {tensor.name: tensor for tensor in original.graph.initializer}
    weights = {
        node.name: numpy_helper.to_array(before[node.input[_WEIGHTS]])
        for node in original.graph.node
        if node.op_type == "Conv" and node.input[_WEIGHTS] in before
    }
    rounded = _Rounded(model)
    for node in model.graph.node:
        if node.op_type == "Conv" and node.name in weights and rounded.has(node):
            error = rounded.weights(node) - weights[node.name]
            rounded.shift_bias(node, -_output_error(error, means[node.name]))


def _output_error(error: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Of each filter, for weights (filter, channel of its group, row, column)."""
    filters, channels = error.shape[:2]
    groups = len(mean) // channels
    of_filter = np.repeat(mean.reshape(groups, channels), filters // groups, axis=0)
    return np.asarray((error.sum(axis=(2, 3)) * of_filter).sum(axis=1))


class _Rounded:
    """The whole numbers of a quantized network, and the scales that give them a meaning."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        self._sources = {
            node.output[0]: node.input
            for node in model.graph.node
            if node.op_type == "DequantizeLinear" and node.input[0] in self._tensors
        }

    def has(self, node: onnx.NodeProto) -> bool:
        """Whether both weights and bias of a node are whole numbers."""
        return len(node.input) > _BIAS and all(
            node.input[place] in self._sources for place in (_WEIGHTS, _BIAS)
        )

    def weights(self, node: onnx.NodeProto) -> np.ndarray:
        """As the node computes with them; signed ones have no zero point."""
        values, scale = self._parts(node, _WEIGHTS)
        return np.asarray(values * scale.reshape(-1, 1, 1, 1))

    def shift_bias(self, node: onnx.NodeProto, shift: np.ndarray) -> None:
        values, scale = self._parts(node, _BIAS)
        whole = values + np.round(shift / scale)
        _set(self._tensors[self._sources[node.input[_BIAS]][0]], whole.astype(np.int32))

    def _parts(self, node: onnx.NodeProto, place: int) -> tuple[np.ndarray, np.ndarray]:
        names = self._sources[node.input[place]]
        values, scale = (numpy_helper.to_array(self._tensors[name]) for name in names[:2])
        return values.astype(np.float64), scale.astype(np.float64)


def _set(tensor: onnx.TensorProto, values: np.ndarray) -> None:
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
