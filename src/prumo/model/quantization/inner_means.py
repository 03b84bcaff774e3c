"""Means of what goes through a network, over many images, one of which is in memory at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
from onnx import helper

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

_ERRORS_ONLY = 3


def inner_means(
    network: Path,
    input_tensor: str,
    images: Iterable[np.ndarray],
    *,
    maps: Collection[str] = (),
    rows: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """The mean of each channel of tensors inside a network.

    Args:
        network: An ONNX file.
        input_tensor: What batches are given to.
        images: The batches, all of the same size.
        maps: Tensors of (image, channel, row, column).
        rows: Tensors of (image, channel).
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
