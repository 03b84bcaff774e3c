"""A small convolutional network as ONNX, with all that makes one hard to quantize."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 32
WIDTH = 64
OUTPUTS = 3
INPUT = "image"
SCORES = "scores"
FEATURES = "features"


def write_convolution_network(path: Path) -> Path:
    """Normalization, three convolutions (one depthwise) around a sum, standardization, Dense."""
    draft = _model(np.zeros(WIDTH, np.float32), np.ones(WIDTH, np.float32))
    session = onnxruntime.InferenceSession(draft.SerializeToString())
    batch = np.concatenate(coloured_images(40, seed=0))
    features = session.run([FEATURES], {INPUT: batch})[0].mean(axis=(2, 3))
    onnx.save(_model(features.mean(axis=0), features.std(axis=0)), path)
    return path


def coloured_images(count: int, seed: int) -> list[np.ndarray]:
    """Batches of one image each: a colour under grain, as raw pixels."""
    numbers = np.random.default_rng(seed)
    colours = numbers.uniform(0, 255, (count, 1, 1, 1, 3))
    grain = numbers.uniform(-40, 40, (count, 1, SIZE, SIZE, 3))
    return list(np.clip(colours + grain, 0, 255).astype(np.float32))


def _model(mean: np.ndarray, deviation: np.ndarray) -> onnx.ModelProto:
    numbers = np.random.default_rng(3)

    def drawn(*shape: int) -> np.ndarray:
        return numbers.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape).astype(np.float32)

    # Filters of different sizes, which one scale for all of them does not suit.
    spread = np.geomspace(0.5, 2, WIDTH).astype(np.float32)
    values = {
        "factor": np.array(1 / 64, np.float32),
        "low": np.array(0, np.float32),
        "high": np.array(6, np.float32),
        "stem": drawn(WIDTH, 3, 3, 3),
        "depthwise": drawn(WIDTH, 1, 3, 3) * spread[:, None, None, None],
        "pointwise": drawn(WIDTH, WIDTH, 1, 1) / spread[None, :, None, None],
        "stem_bias": drawn(WIDTH, 1)[:, 0],
        "depthwise_bias": np.ones(WIDTH, np.float32),
        "pointwise_bias": drawn(WIDTH, 1)[:, 0],
        "mean": mean,
        "deviation": deviation,
        "weights": drawn(WIDTH, OUTPUTS) / 4,
        "bias": np.zeros(OUTPUTS, np.float32),
        "axes": np.array([2, 3], np.int64),
    }
    nodes = [
        helper.make_node("Transpose", [INPUT], ["planes"], "planes", perm=[0, 3, 1, 2]),
        helper.make_node("Mul", ["planes", "factor"], ["normalized"], "normalize"),
        _convolution("stem", "normalized", strides=[2, 2]),
        helper.make_node("Clip", ["stem_out", "low", "high"], ["stem_act"], "stem_clip"),
        _convolution("depthwise", "stem_act", group=WIDTH),
        helper.make_node("Relu", ["depthwise_out"], ["depthwise_act"], "depthwise_relu"),
        _convolution("pointwise", "depthwise_act", side=1),
        helper.make_node("Add", ["pointwise_out", "stem_act"], [FEATURES], "shortcut"),
        helper.make_node("ReduceMean", [FEATURES, "axes"], ["pooled"], "pool", keepdims=0),
        helper.make_node("Sub", ["pooled", "mean"], ["centred"], "centre"),
        helper.make_node("Div", ["centred", "deviation"], ["standard"], "standardize"),
        helper.make_node("Gemm", ["standard", "weights", "bias"], [SCORES], "scores"),
    ]
    side = SIZE // 2
    graph = helper.make_graph(
        nodes,
        "convolutions",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["batch", SIZE, SIZE, 3])],
        [
            helper.make_tensor_value_info(SCORES, TensorProto.FLOAT, ["batch", OUTPUTS]),
            helper.make_tensor_value_info(
                FEATURES, TensorProto.FLOAT, ["batch", WIDTH, side, side]
            ),
        ],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def _convolution(name: str, source: str, side: int = 3, **how: object) -> onnx.NodeProto:
    return helper.make_node(
        "Conv",
        [source, name, f"{name}_bias"],
        [f"{name}_out"],
        name,
        kernel_shape=[side, side],
        pads=[side // 2] * 4,
        **how,
    )
