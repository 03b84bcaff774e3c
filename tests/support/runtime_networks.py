"""One small network in the format of every runtime, and what it gives by numpy's account.

Run as a script in a framework's environment it writes the formats that only the framework can.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from support.framework_process import arguments, run_script, tell

if TYPE_CHECKING:
    from collections.abc import Mapping

SIZE = 6
CLASSES = 3
_GENERATOR = np.random.default_rng(7)
_MIXING = _GENERATOR.normal(size=(3, 4)).astype(np.float32)
_VOTES = _GENERATOR.normal(size=(4, CLASSES)).astype(np.float32)


def drawn_batch(images: int, seed: int = 0) -> np.ndarray:
    """Images of noise, as the network takes them."""
    shape = (images, SIZE, SIZE, 3)
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def expected(batch: np.ndarray) -> Mapping[str, np.ndarray]:
    """What every runtime must give."""
    features = np.maximum(batch @ _MIXING, 0)
    return {"features": features, "scores": features.mean(axis=(1, 2)) @ _VOTES}


def write_onnx(path: Path, batch_size: int | None = None) -> Path:
    """The network for ONNX Runtime; without a size, for batches of any size."""
    import onnx  # noqa: PLC0415 (not in the frameworks' environments)
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415 (as above)

    def tensor(name: str, *shape: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(
            name, TensorProto.FLOAT, [batch_size or "batch", *shape]
        )

    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["images", "mixing"], ["mixed"]),
            helper.make_node("Relu", ["mixed"], ["features"]),
            helper.make_node("ReduceMean", ["features", "axes"], ["pooled"], keepdims=0),
            helper.make_node("MatMul", ["pooled", "votes"], ["scores"]),
        ],
        "small",
        [tensor("images", SIZE, SIZE, 3)],
        [tensor("scores", CLASSES), tensor("features", SIZE, SIZE, 4)],
        [
            numpy_helper.from_array(_MIXING, "mixing"),
            numpy_helper.from_array(_VOTES, "votes"),
            numpy_helper.from_array(np.array([1, 2]), "axes"),
        ],
    )
    opset = helper.make_opsetid("", 18)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=10), path)
    return path


def write_openvino(path: Path, batch_size: int | None = None) -> Path:
    """The network in OpenVINO's own form."""
    import openvino  # noqa: PLC0415 (not in the frameworks' environments)

    source = write_onnx(path.with_suffix(".onnx"), batch_size)
    openvino.save_model(openvino.convert_model(source), path, compress_to_fp16=False)
    return path


def write_in_framework(python: Path, framework: str, folder: Path) -> Path:
    """A folder with `saved` and `network.tflite`, or with `network.pt2`."""
    run_script(python, __file__, framework, str(folder))
    return folder


def _write_with_tensorflow(folder: Path) -> None:
    import tensorflow as tf  # noqa: PLC0415 (only in its own environment)

    class Small(tf.Module):  # type: ignore[misc] # TensorFlow has no types here
        @tf.function  # type: ignore[untyped-decorator] # as above
        def answer(self, images: Any) -> dict[str, Any]:
            features = tf.nn.relu(images @ _MIXING)
            return {"features": features, "scores": tf.reduce_mean(features, (1, 2)) @ _VOTES}

    network = Small()
    spec = tf.TensorSpec((None, SIZE, SIZE, 3), tf.float32, name="images")
    signature = network.answer.get_concrete_function(spec)
    tf.saved_model.save(network, str(folder / "saved"), {"serving_default": signature})
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder / "saved"))
    (folder / "network.tflite").write_bytes(converter.convert())


def _write_with_pytorch(folder: Path) -> None:
    import torch  # noqa: PLC0415 (only in its own environment)

    class Small(torch.nn.Module):  # type: ignore[misc] # PyTorch has no types here
        def __init__(self) -> None:
            super().__init__()
            self.mixing = torch.nn.Parameter(torch.from_numpy(_MIXING))
            self.votes = torch.nn.Parameter(torch.from_numpy(_VOTES))

        def forward(self, images: Any) -> Any:
            features = torch.relu(images @ self.mixing)
            return features.mean(dim=(1, 2)) @ self.votes

    exported = torch.export.export(
        Small().eval(),
        (torch.zeros(2, SIZE, SIZE, 3),),
        dynamic_shapes=({0: torch.export.Dim("batch")},),
    )
    torch.export.save(exported, folder / "network.pt2")


if __name__ == "__main__":
    framework, place = arguments()
    {"tensorflow": _write_with_tensorflow, "pytorch": _write_with_pytorch}[framework](Path(place))
    tell({})
