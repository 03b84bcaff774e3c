"""A packaged model anew: for another runtime, or of smaller numbers."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import InputError, UnavailableError
from prumo.version import __version__
from prumo_serve.convert import converted, require_way
from prumo_serve.convert.agreement import (
    NETWORK_FILES,
    answer_difference,
    require_few_changes,
    settled,
)
from prumo_serve.convert.onnx import draft_of_package, write_openvino
from prumo_serve.manifest import SEEN_FILE, NetworkFile
from prumo_serve.package import (
    Package,
    completed,
    is_package,
    open_or_package,
    require_package_name,
    write_package,
)
from prumo_serve.package.check import require_working
from prumo_serve.quantize import needs_images, quantize_onnx
from prumo_serve.quantize.calibration import drawn_images
from prumo_serve.source import recognized

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo_serve.convert.agreement import Agreement, ConvertedNetwork, Difference, Draft
    from prumo_serve.manifest import HeatMap, Manifest, Precision, RuntimeName
    from prumo_serve.quantize.calibration import CalibrationImages
    from prumo_serve.source import Source

PRECISIONS: dict[RuntimeName, tuple[Precision, ...]] = {
    "onnxruntime": ("fp32", "fp16", "int8", "int8-dynamic"),
    "openvino": ("fp32", "fp16", "bf16", "int8"),
    "litert": ("fp32", "fp16", "int8", "int8-dynamic"),
    "tensorflow": ("fp32",),
    "pytorch": ("fp32",),
}
_OF_ONNX: tuple[RuntimeName, ...] = ("onnxruntime", "openvino")
_FORMATS: dict[RuntimeName, str] = {"tensorflow": "saved_model", "pytorch": "pytorch"}
"""What a network of a package is, if a framework can open it."""
_COMPARED_IMAGES = 20
"""Ours, of those to calibrate with: more would only take time."""


def make_variant(model: Path, request: VariantRequest, out: Path, progress: Progress) -> Variant:
    """Write a model as another package, once its network answers what the model's does.

    `model` is a package, or a model that tells enough about itself to become one.

    Raises:
        InputError: What was given does not go together, or too many calibration images have
            another label than before.
        UnavailableError: There is no way from what the model holds to what is requested.
    """
    require_package_name(out)
    with ExitStack() as stack:
        package = stack.enter_context(open_or_package(model, progress))
        require_sense(package.manifest.network, request.target, request.precision, model)
        if request.precision == "int8" and request.calibration is None:
            raise InputError(needs_images(request.precision))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prumo-variant-")))
        calibration = _calibration(package, request, scratch, progress)
        job = VariantJob(
            package=package,
            shown=model,
            original=_original(model, request, package.manifest),
            target=request.target,
            precision=request.precision,
            calibration=calibration,
        )
        content = scratch / "content"
        content.mkdir()
        network = variant_network(job, content, progress)
        manifest = _manifest(package, network, content)
        progress.show("asking the new package")
        made = Package(content, completed(content, manifest))
        require_working(made)
        difference = answer_difference(package, made, calibration) if calibration else None
        if difference and not request.accept_difference:
            require_few_changes(difference, request.precision)
        progress.show(f"writing {out}")
        written = write_package(content, manifest, out)
        return Variant(written, network.agreement, calibration, difference)


def _original(model: Path, request: VariantRequest, manifest: Manifest) -> Source | None:
    """The model as its framework wrote it, if it was given."""
    if request.original is None:
        return None if is_package(model) else recognized(model)
    source = recognized(request.original)
    if source.sha256 != manifest.origin.sha256:
        raise InputError(
            f"{request.original} is not what {model} was made of: the package names "
            f"{manifest.origin.name} with the SHA-256 {manifest.origin.sha256}"
        )
    return source


def _calibration(
    package: Package, request: VariantRequest, scratch: Path, progress: Progress
) -> CalibrationImages | None:
    if request.calibration is None:
        return None
    return drawn_images(request.calibration, package.manifest, scratch, progress)


def _manifest(package: Package, network: ConvertedNetwork, content: Path) -> Manifest:
    """The package's own, with another network; card, heat map and what it has seen come along."""
    manifest = package.manifest
    for name in {manifest.card, SEEN_FILE} & manifest.files.keys():
        shutil.copyfile(package.folder / name, content / name)
    tensor = {"tensor": network.input_tensor}
    output = {"tensor": network.output_tensor}
    return manifest.model_copy(
        update={
            "network": network.network,
            "heat_map": network.heat_map or _kept_heat_map(package, content),
            "input": manifest.input.model_copy(update=tensor),
            "output": manifest.output.model_copy(update=output),
            "versions": {**manifest.versions, **network.versions, "prumo": __version__},
        }
    )


def _kept_heat_map(package: Package, content: Path) -> HeatMap | None:
    """The package's own: a network keeps all its outputs under their names."""
    heat_map = package.manifest.heat_map
    if heat_map is not None:
        shutil.copyfile(package.folder / heat_map.network.file, content / heat_map.network.file)
    return heat_map


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


def _source(job: VariantJob) -> tuple[Path, str]:
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


@dataclass(frozen=True)
class VariantRequest:
    """What is to be made of a model."""

    target: RuntimeName
    precision: Precision = "fp32"
    calibration: Path | None = None
    """A folder of images to learn ranges from."""
    original: Path | None = None
    """The model that a package was made of, where the package does not hold enough."""
    accept_difference: bool = False
    """Whether the labels of calibration images may change, however many do."""


@dataclass(frozen=True)
class Variant:
    """What was written, and how near it is to the original."""

    manifest: Manifest
    agreement: Agreement
    calibration: CalibrationImages | None
    difference: Difference | None
    """Of the answers to calibration images, where there are any."""

    @property
    def nearness(self) -> str:
        """How near, in words that say what they rest on."""
        if self.difference is not None:
            return f"of the calibration images, {self.difference}"
        if self.agreement.allowed_difference is not None:
            return str(self.agreement)
        return (
            f"{self.agreement}. Only {self.agreement.images} drawn images were looked at, and none "
            "such as the model will see: give --calibration, or let `prumo model compare --images` "
            "tell what the smaller numbers cost"
        )
