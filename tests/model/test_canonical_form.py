"""However a converter numbered and ordered things, the same network becomes the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from prumo_serve.convert.onnx import make_canonical, rename_by_use
from support.model_packages import ColourNetwork

if TYPE_CHECKING:
    from pathlib import Path


def test_other_numbers_and_another_order_give_the_same_bytes() -> None:
    first = ColourNetwork(features=True).model()
    second = _renumbered(ColourNetwork(features=True).model())
    assert first.SerializeToString() != second.SerializeToString()

    rename_by_use(first)
    rename_by_use(second)

    assert first.SerializeToString() == second.SerializeToString()


def test_another_network_stays_another_one() -> None:
    first, second = ColourNetwork().model(), ColourNetwork(sharpness=9).model()

    rename_by_use(first)
    rename_by_use(second)

    assert first.SerializeToString() != second.SerializeToString()


def test_inputs_outputs_and_answers_stay(tmp_path: Path) -> None:
    model = ColourNetwork(features=True).model()
    onnx.save(model, tmp_path / "network.onnx")
    image = np.random.default_rng(0).uniform(0, 255, (2, 32, 32, 3)).astype(np.float32)
    before = _answers(tmp_path / "network.onnx", image)

    make_canonical(tmp_path / "network.onnx")

    after = _answers(tmp_path / "network.onnx", image)
    assert list(before) == list(after) == ["scores", "features"]
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_where_a_network_was_written_is_forgotten() -> None:
    model = ColourNetwork().model()
    for part in (model, model.graph, model.graph.node[0], model.graph.input[0]):
        part.doc_string = "/home/someone/network.py"
        helper.set_model_props(part, {"stack_trace": "/home/someone/network.py, line 8"})

    rename_by_use(model)

    assert b"someone" not in model.SerializeToString()


def test_it_is_forgotten_in_weights_and_inside_of_operators_too() -> None:
    model = _choosing_model()
    inside = model.graph.node[3].attribute[0].g
    for part in (inside, inside.node[0], inside.output[0], model.graph.initializer[0]):
        part.doc_string = "/home/someone/network.py"

    rename_by_use(model)

    assert b"someone" not in model.SerializeToString()
    onnx.checker.check_model(model)


def test_weights_that_are_the_same_are_kept_once() -> None:
    model = ColourNetwork().model()
    model.graph.initializer.append(model.graph.initializer[1])
    model.graph.initializer[-1].name = "copy"
    model.graph.node.insert(5, helper.make_node("Add", ["raw", "copy"], ["more"]))
    model.graph.node[6].input[0] = "more"

    rename_by_use(model)

    onnx.checker.check_model(model)
    assert [tensor.name for tensor in model.graph.initializer] == ["weights_0", "weights_1"]
    assert model.graph.node[5].input[1] == model.graph.node[4].input[2]


def test_graphs_inside_of_operators_know_the_new_names(tmp_path: Path) -> None:
    model = _choosing_model()
    onnx.save(model, tmp_path / "network.onnx")
    image = np.ones((1, 2), np.float32)
    before = _answers(tmp_path / "network.onnx", image)

    make_canonical(tmp_path / "network.onnx")

    assert np.array_equal(_answers(tmp_path / "network.onnx", image)["y"], before["y"])


def _renumbered(model: onnx.ModelProto) -> onnx.ModelProto:
    graph = model.graph
    kept = {value.name for value in [*graph.input, *graph.output]}
    for number, node in enumerate(graph.node):
        node.name = f"node__{900 - number}"
        for names in (node.input, node.output):
            names[:] = [name if name in kept else f"{name}__907" for name in names]
    weights = [(numpy_helper.to_array(one), f"{one.name}__907") for one in graph.initializer]
    del graph.initializer[:]
    graph.initializer.extend(numpy_helper.from_array(*one) for one in reversed(weights))
    graph.input[0].type.tensor_type.shape.dim[0].dim_param = "unk__641"
    return model


def _choosing_model() -> onnx.ModelProto:
    """Twice x where its first number is above 0, and else x; the factor lies outside."""
    twice = helper.make_graph(
        [helper.make_node("Mul", ["same", "factor"], ["product"])],
        "twice",
        [],
        [helper.make_tensor_value_info("product", TensorProto.FLOAT, None)],
    )
    once = helper.make_graph(
        [helper.make_node("Identity", ["same"], ["itself"])],
        "once",
        [],
        [helper.make_tensor_value_info("itself", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("Identity", ["x"], ["same"]),
        helper.make_node("ReduceMax", ["same"], ["largest"], keepdims=0),
        helper.make_node("Cast", ["largest"], ["is_above"], to=TensorProto.BOOL),
        helper.make_node("If", ["is_above"], ["y"], then_branch=twice, else_branch=once),
    ]
    graph = helper.make_graph(
        nodes,
        "choosing",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2])],
        [numpy_helper.from_array(np.array(2, np.float32), "factor")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _answers(path: Path, image: np.ndarray) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(str(path))
    names = [output.name for output in session.get_outputs()]
    values = session.run(names, {session.get_inputs()[0].name: image})
    return dict(zip(names, values, strict=True))
