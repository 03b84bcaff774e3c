"""The network of a variant: which way leads to it, from what a package holds or its original."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import InputError, UnavailableError
from prumo.model.conversion import converted, require_way
from prumo.model.conversion.draft import NETWORK_FILES
from prumo.model.conversion.onnx_draft import draft_of_package
from prumo.model.conversion.openvino_form import write_openvino
from prumo.model.conversion.settling import settled
from prumo.model.manifest import NetworkFile
from prumo.model.quantization import quantize_onnx

if TYPE_CHECKING:
    from prumo.model.conversion.converted_network import ConvertedNetwork
    from prumo.model.conversion.draft import Draft
    from prumo.model.manifest import Precision, RuntimeName
    from prumo.model.package import Package
    from prumo.model.quantization.calibration import CalibrationImages
    from prumo.model.source import OriginFormat, Source
    from prumo.progress import Progress

PRECISIONS: dict[RuntimeName, tuple[Precision, ...]] = {
    "onnxruntime": ("fp32", "fp16", "int8", "int8-dynamic"),
    "openvino": ("fp32", "fp16", "bf16", "int8"),
    "litert": ("fp32", "fp16", "int8", "int8-dynamic"),
    "tensorflow": ("fp32",),
    "pytorch": ("fp32",),
}
_OF_ONNX: tuple[RuntimeName, ...] = ("onnxruntime", "openvino")
_FORMATS: dict[RuntimeName, OriginFormat] = {"tensorflow": "saved_model", "pytorch": "pytorch"}
"""What a network of a package is, if a framework can open it."""
_COMPARED_IMAGES = 20
"""Ours, of those to calibrate with: more would only take time."""


@dataclass(frozen=True)
class VariantJob:
    """What there is, and what it is to become."""

    package: Package
    shown: Path
    """The package as the user knows it."""
    original: Source | None
    """What the package was made of, where it was given."""
    target: RuntimeName
    precision: Precision
    calibration: CalibrationImages | None


def variant_network(job: VariantJob, content: Path, progress: Progress) -> ConvertedNetwork:
    """Write the network into a folder, once it answers what the package's or the original does."""
    if job.target in _OF_ONNX and job.package.manifest.network.runtime == "onnxruntime":
        return _of_onnx(job, content, progress)
    path, kind = _source(job)
    if job.precision != "fp32" and job.target != "litert":
        raise InputError(
            f"{job.shown} has no ONNX network, of which {job.precision} is made: convert it with "
            "--to onnx first, and then what comes of it"
        )
    images = np.load(job.calibration.path, allow_pickle=False) if job.calibration else None
    return converted(
        path, kind, job.target, content, progress, precision=job.precision, images=images
    )


def require_sense(
    network: NetworkFile, target: RuntimeName, precision: Precision, shown: Path
) -> None:
    """Refuse what cannot be made of a package's network, before anything is done for it."""
    if network.precision != "fp32":
        raise InputError(
            f"{shown} is of {network.precision} already: convert the package of fp32 that it was "
            "made of"
        )
    if (network.runtime, network.precision) == (target, precision):
        raise InputError(
            f"{shown} is a network for {target} in {precision} already: give another --to or "
            "--precision"
        )
    if precision not in PRECISIONS[target]:
        raise UnavailableError(
            f"there is no {precision} for {target}; there is {', '.join(PRECISIONS[target])}"
        )


def _of_onnx(job: VariantJob, content: Path, progress: Progress) -> ConvertedNetwork:
    network = NetworkFile(
        file=NETWORK_FILES[job.target], runtime=job.target, precision=job.precision
    )
    with tempfile.TemporaryDirectory(dir=content, prefix=".variant-") as temporary:
        draft = draft_of_package(job.package, Path(temporary), _compared(job.calibration))
        if job.target == "onnxruntime" or job.precision == "int8":
            progress.show(f"quantizing to {job.precision}")
            _quantize(draft, job)
        if job.target == "openvino":
            draft = write_openvino(draft, job.precision, progress)
        return settled(draft, network, content, progress)


def _compared(calibration: CalibrationImages | None) -> np.ndarray | None:
    if calibration is None:
        return None
    images = np.load(calibration.path, mmap_mode="r", allow_pickle=False)
    return np.array(images[: min(calibration.count, _COMPARED_IMAGES)])


def _quantize(draft: Draft, job: VariantJob) -> None:
    """In place: the answers of the network before are in the draft already."""
    network = draft.folder / NETWORK_FILES["onnxruntime"]
    smaller = draft.folder / "quantized.onnx"
    quantize_onnx(network, smaller, job.precision, draft.facts.input_tensor, job.calibration)
    smaller.replace(network)


def _source(job: VariantJob) -> tuple[Path, OriginFormat]:
    """What a framework is to open."""
    if job.original is not None:
        return job.original.path, job.original.format
    runtime = job.package.manifest.network.runtime
    if runtime in _FORMATS:
        return job.package.network_path, _FORMATS[runtime]
    origin = job.package.manifest.origin
    require_way(origin.format, job.target)
    raise UnavailableError(
        f"{job.shown} holds a network for {runtime}, of which none for {job.target} can be made: "
        f"give --original, the {origin.format} model {origin.name} that it was packaged from"
    )
