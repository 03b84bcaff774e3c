"""A packaged model anew: for another runtime, or in a lower precision."""

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
from prumo_serve.choices import PRECISIONS
from prumo_serve.convert import Conversion, converted, require_way
from prumo_serve.convert.agreement import (
    NETWORK_FILES,
    answer_difference,
    require_few_changes,
    settled,
)
from prumo_serve.convert.onnx import draft_of_package, write_openvino
from prumo_serve.manifest import SEEN_FILE
from prumo_serve.package import (
    Package,
    completed,
    is_package,
    open_or_package,
    require_package_name,
    write_package,
)
from prumo_serve.package.check import require_working
from prumo_serve.quantize.calibration import NEEDS_IMAGES, drawn_images
from prumo_serve.source import recognized

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo_serve.choices import Precision, RuntimeName
    from prumo_serve.convert.agreement import Agreement, ConvertedNetwork, Difference, Draft
    from prumo_serve.manifest import Manifest, NetworkFile
    from prumo_serve.quantize.calibration import CalibrationImages
    from prumo_serve.source import Source


_OF_ONNX: tuple[RuntimeName, ...] = ("onnxruntime", "openvino")
_FORMATS: dict[RuntimeName, str] = {"tensorflow": "saved_model", "pytorch": "pytorch"}
"""What a network of a package is, if a framework can open it."""
_COMPARED_IMAGES = 20
"""Ours, of those to calibrate with: more would only take time."""


def _require_sense(network: NetworkFile, request: VariantRequest, shown: Path) -> None:
    """Refuse what cannot be made of a package's network, before anything is done for it."""
    target, precision = request.target, request.precision
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
    if precision == "int8" and request.calibration is None:
        raise InputError(NEEDS_IMAGES)


def _of_onnx(
    package: Package,
    request: VariantRequest,
    calibration: CalibrationImages | None,
    content: Path,
    progress: Progress,
) -> ConvertedNetwork:
    """Write the variant of a package's ONNX network into a folder."""
    compared = None if calibration is None else np.array(calibration.array[:_COMPARED_IMAGES])
    with tempfile.TemporaryDirectory(dir=content, prefix=".variant-") as temporary:
        draft = draft_of_package(package, Path(temporary), compared)
        if request.target == "onnxruntime" or request.precision == "int8":
            progress.show(f"quantizing to {request.precision}")
            _quantize(draft, request.precision, calibration)
        if request.target == "openvino":
            draft = write_openvino(draft, request.precision, progress)
        return settled(draft, request.target, request.precision, content, progress)


def _quantize(draft: Draft, precision: Precision, images: CalibrationImages | None) -> None:
    """In place: the answers of the network before are in the draft already."""
    try:
        from prumo_serve.quantize.methods import quantize_onnx  # noqa: PLC0415 (what it imports)
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"quantizing needs {error.name}: install it with pip install 'prumo[model]'"
        ) from error
    network = draft.folder / NETWORK_FILES["onnxruntime"]
    smaller = draft.folder / "quantized.onnx"
    quantize_onnx(network, smaller, precision, draft.facts.input_tensor, images)
    smaller.replace(network)


def _conversion(
    package: Package,
    shown: Path,
    request: VariantRequest,
    original: Source | None,
    calibration: CalibrationImages | None,
) -> Conversion:
    """Of the original, or of the package's network where a framework can open it."""
    runtime, origin = package.manifest.network.runtime, package.manifest.origin
    if original is not None:
        path, kind = original.path, original.format
    elif runtime in _FORMATS:
        path, kind = package.network_path, _FORMATS[runtime]
    else:
        require_way(origin.format, request.target)
        raise UnavailableError(
            f"{shown} holds a network for {runtime}, of which none for {request.target} can be "
            f"made: give --original, the {origin.format} model {origin.name} that it was packaged "
            "from"
        )
    if request.precision != "fp32" and request.target != "litert":
        raise InputError(
            f"{shown} has no ONNX network, of which {request.precision} is made: convert it with "
            "--to onnx first, and then what comes of it"
        )
    images = None if calibration is None else np.array(calibration.array)
    return Conversion(path, kind, request.target, request.precision, images=images)


@dataclass(frozen=True)
class VariantRequest:
    """What is to be made of a model."""

    target: RuntimeName
    precision: Precision = "fp32"
    calibration: Path | None = None
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
            "show what the lower precision costs"
        )


def make_variant(model: Path, request: VariantRequest, out: Path, progress: Progress) -> Variant:
    """Write a model as another package, once its network answers what the model's does.

    `model` is a package, or a model that tells enough about itself to become one.
    """
    require_package_name(out)
    with ExitStack() as stack:
        package = stack.enter_context(open_or_package(model, progress))
        _require_sense(package.manifest.network, request, model)
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prumo-variant-")))
        calibration = None
        if request.calibration is not None:
            calibration = drawn_images(request.calibration, package.manifest, scratch, progress)
        original = _original(model, request, package.manifest)
        content = scratch / "content"
        content.mkdir()
        if request.target in _OF_ONNX and package.manifest.network.runtime == "onnxruntime":
            network = _of_onnx(package, request, calibration, content, progress)
        else:
            conversion = _conversion(package, model, request, original, calibration)
            network = converted(conversion, content, progress)
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


def _manifest(package: Package, network: ConvertedNetwork, content: Path) -> Manifest:
    """The package's own, with another network; card, heat map and what it has seen come along."""
    manifest = package.manifest
    for name in {manifest.card, SEEN_FILE} & manifest.files.keys():
        shutil.copyfile(package.folder / name, content / name)
    heat_map = network.heat_map
    if heat_map is None and manifest.heat_map is not None:
        # A network keeps all its outputs under their names.
        heat_map = manifest.heat_map
        shutil.copyfile(package.folder / heat_map.network.file, content / heat_map.network.file)
    tensor = {"tensor": network.interface.input_tensor}
    output = {"tensor": network.interface.output_tensor}
    return manifest.model_copy(
        update={
            "network": network.network,
            "heat_map": heat_map,
            "input": manifest.input.model_copy(update=tensor),
            "output": manifest.output.model_copy(update=output),
            "versions": {**manifest.versions, **network.versions, "prumo": __version__},
        }
    )
