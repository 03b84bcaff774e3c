"""A network that takes long enough for things to happen meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, helper, numpy_helper

from support.model_packages import ColourNetwork

_CHANNELS = 64


@dataclass(frozen=True)
class SlowColourNetwork(ColourNetwork):
    """Answers as the quick one, after convolutions that change nothing."""

    size: int = 224
    convolutions: int = 4
    """About 50 ms each on one core."""

    def model(self) -> ModelProto:
        """The same network with a detour before its last operations."""
        model = super().model()
        graph = model.graph
        nodes = [helper.make_node("Conv", ["planes", "widening"], ["detour0"], pads=[1] * 4)]
        for index in range(self.convolutions):
            names = [f"detour{index}", "turning"], [f"detour{index + 1}"]
            nodes.append(helper.make_node("Conv", *names, pads=[1] * 4))
        last = f"detour{self.convolutions}"
        nodes += [
            helper.make_node("ReduceMean", [last], ["flat"], axes=[1, 2, 3], keepdims=0),
            helper.make_node("Mul", ["flat", "nothing"], ["zero"]),
            helper.make_node("Unsqueeze", ["zero", "last"], ["column"]),
            helper.make_node("Add", ["mean", "column"], ["mean_after_detour"]),
        ]
        place = next(index for index, node in enumerate(graph.node) if node.op_type == "Gemm")
        graph.node[place].input[0] = "mean_after_detour"
        kept = list(graph.node)
        del graph.node[:]
        graph.node.extend([*kept[:place], *nodes, *kept[place:]])
        graph.initializer.extend(
            [
                numpy_helper.from_array(
                    np.full((_CHANNELS, 3, 3, 3), 1e-3, np.float32), "widening"
                ),
                numpy_helper.from_array(
                    np.full((_CHANNELS, _CHANNELS, 3, 3), 1e-3, np.float32), "turning"
                ),
                numpy_helper.from_array(np.array(0, np.float32), "nothing"),
                numpy_helper.from_array(np.array([1], np.int64), "last"),
            ]
        )
        return model
