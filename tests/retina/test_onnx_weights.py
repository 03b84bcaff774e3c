"""Weights in ONNX files: what is read of them, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from prumo.errors import DataError
from prumo_retina.weights import named_arrays
from support.weight_files import BIAS, KERNEL, assert_same, onnx_model, written

if TYPE_CHECKING:
    from pathlib import Path


def test_names_of_modules_are_kept_in_order_of_use(tmp_path: Path) -> None:
    nodes = [
        onnx.helper.make_node("Conv", ["pixels", "features.0.weight", "features.0.bias"], ["x"]),
        onnx.helper.make_node("Reshape", ["x", "shape"], ["scores"]),
    ]
    arrays = {"shape": np.array([1, -1]), "features.0.bias": BIAS, "features.0.weight": KERNEL}

    file = written(tmp_path, "net.onnx", onnx_model(nodes, arrays))

    assert list(named_arrays(file).arrays) == ["features.0.weight", "features.0.bias"]


def test_layers_without_names_are_numbered_with_their_normalization(tmp_path: Path) -> None:
    norm = {f"const_{i}": BIAS + i for i in range(4)}
    arrays = {"onnx::Conv_1": KERNEL, "onnx::Conv_2": KERNEL + 1, "onnx::Conv_3": BIAS, **norm}
    even = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    nodes = [
        onnx.helper.make_node("Conv", ["pixels", "onnx::Conv_1"], ["a"], **even),
        onnx.helper.make_node("BatchNormalization", ["a", *norm], ["b"]),
        onnx.helper.make_node("Conv", ["b", "onnx::Conv_2", "onnx::Conv_3"], ["scores"]),
    ]

    file = written(tmp_path, "net.onnx", onnx_model(nodes, arrays))

    assert_same(
        named_arrays(file).arrays,
        {
            "conv_0.weight": KERNEL,
            "conv_0.scale": BIAS,
            "conv_0.shift": BIAS + 1,
            "conv_0.mean": BIAS + 2,
            "conv_0.variance": BIAS + 3,
            "conv_1.weight": KERNEL + 1,
            "conv_1.bias": BIAS,
            "even_padding": np.ones(()),
        },
    )


def test_weights_in_another_file_are_refused(tmp_path: Path) -> None:
    node = onnx.helper.make_node("Conv", ["pixels", "w"], ["scores"])
    model = onnx.load_model_from_string(onnx_model([node], {"w": KERNEL}))
    (tensor,) = model.graph.initializer
    onnx.external_data_helper.set_external_data(tensor, "/etc/hostname")
    tensor.ClearField("raw_data")

    file = written(tmp_path, "apart.onnx", model.SerializeToString())

    with pytest.raises(DataError, match="keeps its weights in another file"):
        named_arrays(file)


@pytest.mark.parametrize(
    "nodes",
    [
        [onnx.helper.make_node("Conv", ["pixels"], ["scores"])],
        [onnx.helper.make_node("Conv", ["pixels", "w"], [])],
        [
            onnx.helper.make_node("Conv", ["pixels", "w"], ["x"]),
            onnx.helper.make_node("BatchNormalization", ["x", "absent", "w", "w", "w"], ["scores"]),
        ],
    ],
    ids=["no kernel", "no output", "half a normalization"],
)
def test_a_graph_that_lacks_something_is_told(tmp_path: Path, nodes: list[onnx.NodeProto]) -> None:
    with pytest.raises(DataError, match="is no whole ONNX file"):
        named_arrays(written(tmp_path, "net.onnx", onnx_model(nodes, {"w": KERNEL})))


def test_what_is_cut_off_or_foreign_is_told(tmp_path: Path) -> None:
    node = onnx.helper.make_node("Conv", ["pixels", "a.b.weight"], ["scores"])
    whole = onnx_model([node], {"a.b.weight": KERNEL})
    for broken in (whole[:-9], b"not weights at all", b""):
        with pytest.raises(DataError, match=r"net\.onnx: (is no whole ONNX|has no weights)"):
            named_arrays(written(tmp_path, "net.onnx", broken))
