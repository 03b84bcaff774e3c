"""A network that PyTorch exported, as ONNX or as it is.

The file has been looked through: nothing that PyTorch would unpickle or evaluate is in it.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Before the import, in case a pickle was overlooked: none is ever run.
os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"

import numpy as np
import torch

from prumo_worker.conversion.facts import (
    ONNX_FILE,
    OPSET,
    OUTPUT,
    NetworkFacts,
    asked_images,
    image_shape,
    kind_of_output,
    require_classes,
    write_reference,
)
from prumo_worker.task import DataError, first_line

if TYPE_CHECKING:
    from prumo_worker.conversion import Request
    from prumo_worker.journal import Journal

_DTYPES = {torch.float32: "float32", torch.uint8: "uint8"}
_PASSED_BY = {"view", "reshape", "flatten", "squeeze", "to", "_to_copy", "clone", "dropout"}


def convert(request: Request, journal: Journal) -> None:
    """Write the original's answers and, unless PyTorch itself is to compute it, the network."""
    exported = _loaded(request.source)
    taken, given = _tensors(exported, request.source)
    facts = _facts(taken, given, request)
    journal.event("stage", text="asking the original")
    network, batch_size = exported.module(), _size(taken.meta["val"].shape[0])

    def reference(images: np.ndarray) -> dict[str, np.ndarray]:
        # One that was exported for so many images at once takes no other number.
        batch = torch.from_numpy(np.repeat(images, batch_size or 1, axis=0))
        with torch.inference_mode():
            answers = network(batch)
        if not isinstance(answers, torch.Tensor):
            raise DataError(
                f"{request.source} gives its numbers inside of a {type(answers).__name__}; export "
                "a model that gives the tensor itself"
            )
        return {facts.output_tensor: answers[: len(images)].float().numpy()}

    write_reference(request.out, asked_images(facts, request), reference)
    versions = {"torch": torch.__version__}
    if request.target != "pytorch":
        journal.event("stage", text="converting")
        versions.update(_write_onnx(exported, facts, request.out / ONNX_FILE))
    journal.event("converted", network=asdict(facts), versions=versions)


def _loaded(path: Path) -> torch.export.ExportedProgram:
    try:
        return torch.export.load(path)
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, AssertionError) as error:
        raise DataError(f"{path} cannot be loaded as an export: {first_line(error)}") from error


def _tensors(exported: torch.export.ExportedProgram, source: Path) -> tuple[Any, Any]:
    """The nodes of the graph that stand for the one input and the one output."""
    signature = exported.graph_signature
    for names, what in ((signature.user_inputs, "inputs"), (signature.user_outputs, "outputs")):
        if len(names) != 1:
            raise DataError(f"{source} has {len(names)} {what}; a classifier of images has one")
    nodes = {node.name: node for node in exported.graph.nodes}
    return nodes[signature.user_inputs[0]], nodes[signature.user_outputs[0]]


def _facts(taken: Any, given: Any, request: Request) -> NetworkFacts:  # noqa: ANN401 (PyTorch has no types here)
    layout, height, width = image_shape(_shape(taken), request)
    dtype = taken.meta["val"].dtype
    if dtype not in _DTYPES:
        raise DataError(
            f"{request.source} takes images as {dtype}; float32 or uint8 are understood"
        )
    classes = require_classes(_shape(given), request.source)
    kind, activation = kind_of_output(_last_operation(given), classes)
    return NetworkFacts(taken.name, height, width, layout, _DTYPES[dtype], OUTPUT, kind, activation)


def _shape(node: Any) -> tuple[int | None, ...]:  # noqa: ANN401 (PyTorch has no types here)
    return tuple(_size(size) for size in node.meta["val"].shape)


def _size(size: object) -> int | None:
    """None for one that the export leaves free."""
    return size if isinstance(size, int) else None


def _last_operation(node: Any) -> str:  # noqa: ANN401 (PyTorch has no types here)
    """What makes the output: `softmax`, `linear`."""
    while True:
        name = str(node.target).split(".")[1] if "." in str(node.target) else str(node.target)
        if name not in _PASSED_BY:
            return name.lstrip("_")
        node = node.args[0]


def _write_onnx(
    exported: torch.export.ExportedProgram, facts: NetworkFacts, path: Path
) -> dict[str, str]:
    import onnx  # noqa: PLC0415 (PyTorch's environment has none, its companion does)
    import onnxscript  # noqa: PLC0415 (as above)

    program = torch.onnx.export(
        exported,
        dynamo=True,
        opset_version=OPSET,
        input_names=[facts.input_tensor],
        output_names=[facts.output_tensor],
        verbose=False,
    )
    path.write_bytes(program.model_proto.SerializeToString())
    versions = {"onnxscript": onnxscript.__version__, "onnx": onnx.__version__}
    return {**versions, "opset": str(OPSET)}
