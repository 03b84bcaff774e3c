"""Conversion from ONNX: drafts from files and packages, a canonical form, and OpenVINO.

Converters number what they make in an order that differs from run to run, keep any one of two
weights that are the same, and note in which lines of which source files a layer was written.
The canonical form changes only names, copies and notes, so that a network always gives one file.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import UnavailableError
from prumo.machine.cpu import read_cpu
from prumo_serve.convert.agreement import (
    HEAT_MAP_FILE,
    NETWORK_FILES,
    ConversionError,
    Draft,
    NetworkFacts,
    answers_of,
)
from prumo_serve.manifest import HEAT_MAP_TENSOR
from prumo_serve.runtimes.openvino_runtime import PRECISION_NOTE
from prumo_serve.source import FORMATS, onnx_file
from prumo_worker.conversion.facts import ANY_PIXELS, RAW_PIXELS, drawn_images

if TYPE_CHECKING:
    import numpy as np
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

    from prumo.progress import Progress
    from prumo_serve.choices import Precision
    from prumo_serve.convert import Conversion
    from prumo_serve.package import Package

_ONNX_FILE = NETWORK_FILES["onnxruntime"]


def draft_of_file(job: Conversion, folder: Path) -> Draft:
    """Of an ONNX file from anywhere, written as one file that takes any batch."""
    model = onnx_file.checked_model(job.source)
    found = NetworkFacts(
        **asdict(onnx_file.interface(model, job.source, job.layout, job.size_pixels))
    )
    onnx_file.write_one_file(job.source, folder / _ONNX_FILE)
    images = _images(found, job.images, raw_pixels=False)
    reference = _reference(folder, found, images)
    return Draft(folder, found, images, reference, onnx_file.format_versions(model))


def draft_of_package(package: Package, folder: Path, given: np.ndarray | None = None) -> Draft:
    """Of a package that ONNX Runtime computes, with its heat map."""
    manifest = package.manifest
    found = NetworkFacts(
        manifest.input.tensor,
        manifest.input.height,
        manifest.input.width,
        manifest.input.layout,
        manifest.input.dtype,
        manifest.output.tensor,
        manifest.output.kind,
        manifest.output.activation,
        features_tensor=manifest.heat_map.features if manifest.heat_map else "",
    )
    shutil.copyfile(package.network_path, folder / _ONNX_FILE)
    if package.heat_map_path:
        shutil.copyfile(package.heat_map_path, folder / HEAT_MAP_FILE)
    images = _images(found, given, raw_pixels=manifest.origin.format not in FORMATS)
    reference = _reference(folder, found, images)
    return Draft(folder, found, images, reference, dict(manifest.versions))


def _images(facts: NetworkFacts, given: np.ndarray | None, *, raw_pixels: bool) -> np.ndarray:
    if given is not None:
        return given
    ranges = RAW_PIXELS if raw_pixels or facts.dtype == "uint8" else ANY_PIXELS
    return drawn_images(facts.height, facts.width, facts.layout, facts.dtype, ranges)


def _reference(folder: Path, facts: NetworkFacts, images: np.ndarray) -> dict[str, np.ndarray]:
    answers = answers_of(folder / _ONNX_FILE, "onnxruntime", images, facts.outputs)
    reference = {facts.output_tensor: answers[facts.output_tensor]}
    if facts.features_tensor:
        reference |= answers_of(
            folder / HEAT_MAP_FILE, "onnxruntime", answers[facts.features_tensor], [HEAT_MAP_TENSOR]
        )
    return reference


def make_canonical(path: Path) -> None:
    """Rewrite an ONNX file whose weights lie inside of it."""
    onnx = onnx_file.onnx_module()
    model = onnx.load(path)
    rename_by_use(model)
    onnx.save(model, path)


def rename_by_use(model: ModelProto) -> None:
    """Name weights and what lies between operators after the first operator that uses them."""
    graph = model.graph
    names = {value.name: value.name for value in [*graph.input, *graph.output]}
    weights = _Weights(graph)
    for number, node in enumerate(graph.node):
        node.name = f"{node.op_type}_{number}"
        for name in chain.from_iterable(inner.input for inner in onnx_file.nodes_below([node])):
            if name in weights.same and name not in names:
                names[name] = weights.named(name)
        for place, name in enumerate(node.output):
            names.setdefault(name, f"{node.name}_{place}" if name else "")
        _rename(node, names)
    del graph.initializer[:]
    graph.initializer.extend(weights.kept)
    # Shapes in between can be inferred, and have the old names.
    del graph.value_info[:]
    for value in [*graph.input, *graph.output]:
        for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
            if not dimension.HasField("dim_value"):
                dimension.dim_param = f"{value.name}_{axis}" if axis else "batch"
        _forget_notes(value)
    graph.name = "network"
    _forget_notes(graph)
    _forget_notes(model)


class _Weights:
    """The weights of a graph, each content once, in the order in which they are asked for."""

    def __init__(self, graph: GraphProto) -> None:
        self.same = {tensor.name: tensor for tensor in graph.initializer}
        self.kept: list[TensorProto] = []
        self._names: dict[bytes, str] = {}

    def named(self, name: str) -> str:
        """The new name of the weights that had this one."""
        tensor = type(self.same[name])()
        tensor.CopyFrom(self.same[name])
        tensor.name = ""
        _forget_notes(tensor)
        content = tensor.SerializeToString(deterministic=True)
        if content not in self._names:
            tensor.name = self._names[content] = f"weights_{len(self.kept)}"
            self.kept.append(tensor)
        return self._names[content]


def _forget_notes(
    part: GraphProto | ModelProto | NodeProto | TensorProto | ValueInfoProto,
) -> None:
    part.ClearField("doc_string")
    part.ClearField("metadata_props")


def _rename(node: NodeProto, names: dict[str, str]) -> None:
    """Give all names of a node anew, also in the graphs inside of it, and drop their notes."""
    _forget_notes(node)
    node.input[:] = [names.get(name, name) for name in node.input]
    node.output[:] = [names.get(name, name) for name in node.output]
    for attribute in node.attribute:
        for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
            _forget_notes(graph)
            for part in [*graph.input, *graph.output, *graph.value_info, *graph.initializer]:
                _forget_notes(part)
            for inner in graph.node:
                _rename(inner, names)


def write_openvino(draft: Draft, precision: Precision, progress: Progress) -> Draft:
    """Write a draft's network once more, for OpenVINO.

    fp16 are 16 bits for every weight. bf16 is a note that the numbers between may be of 16 bits,
    which OpenVINO heeds where the processor has units for them. Eight bits are in the network.
    """
    progress.show("converting to OpenVINO")
    try:
        import openvino  # noqa: PLC0415 (belongs to an extra)
        from openvino.frontend import (  # noqa: PLC0415 (as above)
            GeneralFailure,
            OpConversionFailure,
            OpValidationFailure,
        )
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "OpenVINO's form is written with OpenVINO: install it with "
            "pip install 'prumo[openvino]'"
        ) from error
    try:
        network = openvino.convert_model(draft.folder / _ONNX_FILE)
        # Operations without a name get one from a counter that the whole process shares.
        for place, operation in enumerate(network.get_ordered_ops()):
            if operation.get_type_name() == "Constant":
                operation.set_friendly_name(f"Constant_{place}")
        if precision == "bf16":
            network.set_rt_info(precision, list(PRECISION_NOTE))
        xml_file = draft.folder / NETWORK_FILES["openvino"]
        openvino.save_model(network, xml_file, compress_to_fp16=precision == "fp16")
    except (RuntimeError, OpConversionFailure, OpValidationFailure, GeneralFailure) as error:
        words = str(error).strip().rpartition("\n")[2].removeprefix("-- ")
        raise ConversionError(f"OpenVINO cannot read this network: {words}") from error
    if precision == "bf16" and not any("bf16" in flag for flag in read_cpu().vector_extensions):
        progress.say(
            "this processor has no units for bf16: OpenVINO computes in fp32 here, and what bf16 "
            "changes elsewhere cannot be told"
        )
    version = str(openvino.get_version()).partition("-")[0]
    return replace(draft, versions=draft.versions | {"openvino": version})
