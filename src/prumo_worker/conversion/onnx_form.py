"""A function of TensorFlow's as ONNX, by tf2onnx."""

from __future__ import annotations

import gc
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import tensorflow as tf
import tf2onnx
from tf2onnx import optimizer, tf_loader, tfonnx

from prumo_worker.conversion.facts import OPSET
from prumo_worker.task import DataError

if TYPE_CHECKING:
    from prumo_worker.conversion.tensorflow_function import ConstantFunction


def write_onnx(network: ConstantFunction, path: Path) -> dict[str, str]:
    """Write a function, whose tensors keep their names."""
    inputs = [tensor.name for tensor in network.function.inputs]
    outputs = [tensor.name for tensor in network.function.outputs]
    names = [*(name.partition(":")[0] for name in inputs), *network.outputs]
    # What lives now is not looked at again by all the collections to come.
    gc.collect()
    gc.freeze()
    with tf.Graph().as_default():
        graph = tf_loader.tf_optimize(inputs, outputs, network.function.graph.as_graph_def())
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph, name="")
        del graph
        try:
            converted = tfonnx.process_tf_graph(
                imported,
                opset=OPSET,
                input_names=inputs,
                output_names=outputs,
                tensors_to_rename=dict(zip([*inputs, *outputs], names)),
            )
        except ValueError as error:
            raise DataError(f"tf2onnx cannot say this network in ONNX: {error}") from error
        passes = optimizer._get_optimizers()  # noqa: SLF001 (the parameter below wants all of them)
        tidy = {name: partial(_TidyPass, each) for name, each in passes.items()}
        model = optimizer.optimize_graph(converted, optimizers=tidy).make_model("network")
    path.write_bytes(model.SerializeToString())
    return {"tf2onnx": tf2onnx.__version__, "onnx": onnx.__version__, "opset": str(OPSET)}


class _TidyPass:
    """A pass over the graph, after which the copy that it began with goes.

    Every pass copies all weights, and the copies refer to themselves: left to Python, a VGG19 of
    80 MB takes 4.9 GB before it is converted, and 2.2 GB like this.
    """

    def __init__(self, maker: Any) -> None:  # noqa: ANN401 (a class of tf2onnx's, without types)
        self._pass = maker()

    @property
    def graph_been_opt(self) -> bool:
        """Whether it found something to do."""
        return bool(self._pass.graph_been_opt)

    def optimize(self, graph: Any, iteration: int) -> Any:  # noqa: ANN401 (no types here)
        """Go over the graph."""
        better = self._pass.optimize(graph, iteration)
        gc.collect()
        return better
