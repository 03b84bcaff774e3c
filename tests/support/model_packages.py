"""Small real packages: ONNX networks that look at colours, made in milliseconds."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from prumo_retina.grade import Grade
from prumo_retina.task import FundusPreprocessing
from prumo_serve.manifest import (
    HeatMap,
    ImagePreprocessing,
    Input,
    Manifest,
    NetworkFile,
    Normalization,
    OperatingPoint,
    Origin,
    Output,
)
from prumo_serve.package import write_package

if TYPE_CHECKING:
    from collections.abc import Sequence

MAP_SIDE = 4
OPSET = 17
IR_VERSION = 8
POINTS = (
    OperatingPoint(name="high_sensitivity", threshold=0.3, rule="sensitivity at least 0.95"),
    OperatingPoint(name="balanced", threshold=0.5, rule="greatest sum"),
)
LABELS: dict[str, tuple[str, ...]] = {
    "classification": ("red", "green", "blue"),
    "referral": ("no referral", "referral"),
    "grade": tuple(grade.title for grade in Grade),
}
COLOURS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]], np.float32).T
"""Which of red, green and blue speak for each class; scores grow with their excess over grey."""


@dataclass(frozen=True)
class ColourNetwork:
    """Scores from the mean colour of an image, seen through a 4 x 4 map of features."""

    outputs: int = 3
    size: int = 32
    layout: Literal["NHWC", "NCHW"] = "NHWC"
    probabilities: bool = False
    """Whether softmax is the network's last operation."""
    features: bool = False
    """Whether the map of features is an output too."""
    sharpness: float = 8.0
    """How sure it is; another value makes another network of the same form."""
    grey: float = 128.0
    """What counts as no colour at all."""

    def model(self) -> onnx.ModelProto:
        """As ONNX, for any number of images."""
        shape = (
            ["batch", self.size, self.size, 3]
            if self.layout == "NHWC"
            else ["batch", 3, self.size, self.size]
        )
        channels_first = (
            [helper.make_node("Transpose", ["image"], ["planes"], perm=[0, 3, 1, 2])]
            if self.layout == "NHWC"
            else [helper.make_node("Identity", ["image"], ["planes"])]
        )
        side = self.size // MAP_SIDE
        last = "activated" if self.probabilities else "scores"
        nodes = [
            *channels_first,
            helper.make_node(
                "AveragePool", ["planes"], ["pooled"], kernel_shape=[side] * 2, strides=[side] * 2
            ),
            helper.make_node("Transpose", ["pooled"], ["features"], perm=[0, 2, 3, 1]),
            helper.make_node("ReduceMean", ["features"], ["mean"], axes=[1, 2], keepdims=0),
            helper.make_node("Gemm", ["mean", "weights", "bias"], ["raw"]),
            helper.make_node("Softmax", ["raw"], ["probabilities"], axis=1)
            if self.probabilities
            else helper.make_node("Identity", ["raw"], ["scores"]),
        ]
        weights = COLOURS[:, : self.outputs] * np.float32(self.sharpness / 128)
        weights = weights - weights.mean(axis=0, keepdims=True)
        bias = -self.grey * weights.sum(axis=0)
        outputs = [
            helper.make_tensor_value_info(
                "probabilities" if last == "activated" else "scores",
                TensorProto.FLOAT,
                ["batch", self.outputs],
            )
        ]
        if self.features:
            outputs.append(
                helper.make_tensor_value_info(
                    "features", TensorProto.FLOAT, ["batch", MAP_SIDE, MAP_SIDE, 3]
                )
            )
        graph = helper.make_graph(
            nodes,
            "colours",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
            outputs,
            [
                numpy_helper.from_array(weights, "weights"),
                numpy_helper.from_array(bias.astype(np.float32), "bias"),
            ],
        )
        return _model(graph)


def colour_heat_map() -> onnx.ModelProto:
    """From features to a map from 0 to 1: where the image is reddest."""
    red = np.array([1, -0.5, -0.5], np.float32)
    nodes = [
        helper.make_node("Mul", ["features", "red"], ["weighed"]),
        helper.make_node("ReduceSum", ["weighed", "last_axis"], ["sum"], keepdims=0),
        helper.make_node("Relu", ["sum"], ["positive"]),
        helper.make_node("ReduceMax", ["positive"], ["largest"], axes=[1, 2], keepdims=1),
        helper.make_node("Max", ["largest", "least"], ["divisor"]),
        helper.make_node("Div", ["positive", "divisor"], ["heat_map"]),
    ]
    shape = ["batch", MAP_SIDE, MAP_SIDE]
    graph = helper.make_graph(
        nodes,
        "heat_map",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [*shape, 3])],
        [helper.make_tensor_value_info("heat_map", TensorProto.FLOAT, shape)],
        [
            numpy_helper.from_array(red, "red"),
            numpy_helper.from_array(np.array([3], np.int64), "last_axis"),
            numpy_helper.from_array(np.array(1e-6, np.float32), "least"),
        ],
    )
    return _model(graph)


def write_network(path: Path, network: ColourNetwork | None = None) -> Path:
    """An ONNX file alone."""
    onnx.save(_or_default(network).model(), path)
    return path


def write_colour_package(
    out: Path,
    task: str = "classification",
    *,
    preprocessing: Literal["image", "fundus"] | None = None,
    network: ColourNetwork | None = None,
    heat_map: bool = False,
    labels: Sequence[str] | None = None,
    normalization: Normalization | None = None,
    name: str = "colours",
) -> Manifest:
    """A whole package, as archive or folder; retina tasks take fundus photographs by default."""
    told = tuple(labels or LABELS[task])
    outputs = 1 if task == "referral" else len(told)
    made = network or ColourNetwork(outputs=outputs, features=heat_map)
    kind = preprocessing or ("image" if task == "classification" else "fundus")
    is_retina = task != "classification"
    with tempfile.TemporaryDirectory() as temporary:
        content = Path(temporary)
        write_network(content / "network.onnx", made)
        if heat_map:
            onnx.save(colour_heat_map(), content / "heat_map.onnx")
        (content / "card.md").write_text(f"# {name}\n\nLooks at colours.\n", encoding="utf-8")
        manifest = Manifest(
            name=name,
            task=task,
            labels=told,
            input=Input(
                tensor="image",
                height=made.size,
                width=made.size,
                layout=made.layout,
                normalization=normalization,
                preprocessing=FundusPreprocessing(
                    preparation={"format": 1, "size": made.size, "method": "rim", "enhance": "none"}
                )
                if kind == "fundus"
                else ImagePreprocessing(),
            ),
            output=Output(
                tensor="probabilities" if made.probabilities else "scores",
                kind="probabilities" if made.probabilities else "scores",
                activation="sigmoid" if task == "referral" else "softmax",
                temperature=1.25 if is_retina and not made.probabilities else 1.0,
            ),
            points=POINTS if is_retina else (),
            point="balanced" if is_retina else "",
            network=NetworkFile(file="network.onnx", runtime="onnxruntime"),
            heat_map=HeatMap(
                features="features",
                network=NetworkFile(file="heat_map.onnx", runtime="onnxruntime"),
            )
            if heat_map
            else None,
            origin=Origin(format="onnx", name="network.onnx", sha256="0" * 64),
            card="card.md",
        )
        return write_package(content, manifest, out)


def _or_default(network: ColourNetwork | None) -> ColourNetwork:
    return network or ColourNetwork()


def _model(graph: onnx.GraphProto) -> onnx.ModelProto:
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    onnx.checker.check_model(model)
    return model
