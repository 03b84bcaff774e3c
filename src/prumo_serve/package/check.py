"""What a packaged model is, and whether it is whole, safe, and answers."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.errors import InputError, PrumoError
from prumo.quantity import Quantity
from prumo_serve.classification import probabilities_of
from prumo_serve.preprocessing import TensorForm
from prumo_serve.runtimes import Resources, load_network
from prumo_serve.source.onnx_file import checked_model, format_versions
from prumo_serve.task import preprocessing, task_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prumo_serve.manifest import Input, Manifest, NetworkFile, Output, Precision
    from prumo_serve.package import Package
    from prumo_serve.runtimes import LoadedNetwork


_ASKED_IMAGES = 2
_TOLERANCES: dict[Precision, float] = {
    "fp32": 1e-3,
    "fp16": 1e-2,
    "bf16": 5e-2,
    "int8": 1e-2,
    # It finds its scale anew for every batch, so that an image's neighbours have a say.
    "int8-dynamic": 0.2,
}
"""Ours, of probabilities: how much an image's answer may change beside another image."""
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Finding:
    """One thing that was checked."""

    subject: str
    passed: bool
    told: str


def examined(package: Package) -> tuple[Finding, ...]:
    """Everything that was checked of an opened package, up to where it cannot go on."""
    manifest = package.manifest
    files = f"{len(manifest.files)} files as packed, version {manifest.version}"
    findings = [Finding("files", passed=True, told=files)]
    for subject, check in _checks(package):
        try:
            findings.append(Finding(subject, passed=True, told=check()))
        except PrumoError as error:
            findings.append(Finding(subject, passed=False, told=str(error)))
            break
    return tuple(findings)


def require_working(package: Package) -> None:
    """Refuse a package that fails an examination."""
    for finding in examined(package):
        if not finding.passed:
            raise InputError(f"{package.manifest.name}: {finding.subject}: {finding.told}")


def _checks(package: Package) -> Iterator[tuple[str, Callable[[], str]]]:
    manifest = package.manifest
    if manifest.network.runtime == "onnxruntime":
        yield "operators", lambda: _operators(package.network_path)
    yield "preprocessing", lambda: _preprocessing(package)
    network = _Lazy(package.network_path, manifest.network)
    try:
        yield "network", network.load
        yield "answers", lambda: _answers(package, network.loaded)
        yield "batches", lambda: _batches(package, network.loaded)
        if manifest.heat_map is not None:
            yield "heat map", lambda: _heat_map(package, network.loaded)
    finally:
        network.close()
    yield "card", lambda: manifest.card or "there is none"


class _Lazy:
    """A network that is loaded when its turn comes."""

    def __init__(self, path: Path, file: NetworkFile) -> None:
        self._path = path
        self._file = file
        self._network: LoadedNetwork | None = None

    @property
    def loaded(self) -> LoadedNetwork:
        if self._network is None:
            raise InputError("the network was not loaded")
        return self._network

    def load(self) -> str:
        began = perf_counter()
        self._network = load_network(self._path, self._file.runtime, Resources())
        seconds = perf_counter() - began
        return f"{self._file.runtime} loaded it in {seconds:.2f} s"

    def close(self) -> None:
        if self._network is not None:
            self._network.close()


def _operators(path: Path) -> str:
    versions = format_versions(checked_model(path))
    return f"ONNX's own, opset {versions['onnx_opset']}, IR version {versions['onnx_ir']}"


def _preprocessing(package: Package) -> str:
    wanted = package.manifest.input
    made = preprocessing(package.manifest)
    rows, columns = wanted.height, wanted.width
    drawn = np.random.default_rng(0).integers(0, 256, (2 * rows, 2 * columns, 3), np.uint8)
    prepared = made.prepared(drawn)
    if prepared.pixels is None:
        # Noise is no photograph, and the model would say so.
        return f"{wanted.preprocessing.kind}: noise is told from a photograph"
    if prepared.pixels.shape != _shape(wanted):
        raise InputError(f"it gives {prepared.pixels.shape}, the network takes {_shape(wanted)}")
    return f"{wanted.preprocessing.kind}: to {columns} x {rows} pixels"


def _answers(package: Package, network: LoadedNetwork) -> str:
    manifest = package.manifest
    if manifest.input.tensor not in network.input_names:
        raise InputError(
            f"the manifest asks by {manifest.input.tensor}, the network takes "
            f"{', '.join(network.input_names)}"
        )
    if manifest.output.tensor not in network.output_names:
        raise InputError(
            f"the manifest wants {manifest.output.tensor}, the network gives "
            f"{', '.join(network.output_names)}"
        )
    batch = drawn_batch(manifest.input, 1)
    rows = network.run(batch, [manifest.output.tensor])[manifest.output.tensor]
    probabilities_of(rows[0], manifest.output, len(manifest.labels))
    return f"one probability for each of {len(manifest.labels)} labels"


def _batches(package: Package, network: LoadedNetwork) -> str:
    output = package.manifest.output
    labels = len(package.manifest.labels)
    batch = drawn_batch(package.manifest.input, _ASKED_IMAGES)
    together = network.run(batch, [output.tensor])[output.tensor]
    if len(together) != _ASKED_IMAGES:
        raise InputError(f"the network gave {len(together)} answers to {_ASKED_IMAGES} images")
    largest = 0.0
    for image, row in zip(batch, together, strict=True):
        alone = network.run(image[np.newaxis], [output.tensor])[output.tensor]
        pair = np.array([probabilities_of(one, output, labels) for one in (alone[0], row)])
        largest = max(largest, float(np.abs(pair[0] - pair[1]).max()))
    if largest > _TOLERANCES[package.manifest.network.precision]:
        raise InputError(
            f"an image is answered otherwise beside another one than alone: probabilities differ "
            f"by {largest:.3g}"
        )
    return f"{_ASKED_IMAGES} images are answered as each alone, to {largest:.1g}"


def _heat_map(package: Package, network: LoadedNetwork) -> str:
    heat_map, path = package.manifest.heat_map, package.heat_map_path
    if heat_map is None or path is None:
        raise InputError("there is none")
    if heat_map.features not in network.output_names:
        raise InputError(f"the network does not give {heat_map.features}, of which it is made")
    batch = drawn_batch(package.manifest.input, 1)
    features = network.run(batch, [heat_map.features])[heat_map.features]
    maker = load_network(path, heat_map.network.runtime, Resources())
    try:
        (name,) = maker.output_names
        maps = maker.run(features, [name])[name]
    finally:
        maker.close()
    if maps.ndim != 3 or len(maps) != 1:  # noqa: PLR2004 (batch, rows, columns)
        raise InputError(f"a map of rows and columns was expected, it has the shape {maps.shape}")
    if not (np.isfinite(maps).all() and maps.min() >= 0 and maps.max() <= 1 + _ROUNDING):
        raise InputError("its values are not from 0 to 1")
    return f"{maps.shape[1]} x {maps.shape[2]} places, from 0 to 1"


def drawn_batch(wanted: Input, images: int) -> np.ndarray:
    """Noise in the form that a network takes; always the same."""
    form = TensorForm(wanted)
    generator = np.random.default_rng(0)
    size = (images, wanted.height, wanted.width, 3)
    return np.stack([form.of(image) for image in generator.integers(0, 256, size, np.uint8)])


def _shape(wanted: Input) -> tuple[int, ...]:
    rows, columns = wanted.height, wanted.width
    return (rows, columns, 3) if wanted.layout == "NHWC" else (3, rows, columns)


_SHOWN_LABELS = 8


def shown_rows(package: Package) -> Iterator[tuple[str, str]]:
    """A name and what there is to say under it."""
    manifest = package.manifest
    yield "name", manifest.name
    yield "version", manifest.version
    if manifest.created:
        yield "trained", manifest.created
    task = task_named(manifest.task)
    yield "answers", task.summary
    yield "labels", _labels(manifest)
    yield "input", _input(manifest.input)
    yield (
        "preprocessing",
        _shown_preprocessing(task.preprocessing_summary(manifest.input), manifest.input),
    )
    yield "output", _output(manifest.output)
    for point in manifest.points:
        decides = " (decides)" if point.name == manifest.point else ""
        rule = f": {point.rule}" if point.rule else ""
        yield (
            f"point {point.name}",
            f"{task.point_verb} from {point.threshold:.4g} on{decides}{rule}".lstrip(),
        )
    yield "network", _network(package)
    yield "heat map", manifest.heat_map.network.file if manifest.heat_map else "none"
    origin = manifest.origin
    yield "made of", f"{origin.name} ({origin.format}), SHA-256 {origin.sha256}"
    yield "versions", ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    yield "card", manifest.card or "none"


def package_document(package: Package) -> dict[str, Any]:
    """The manifest with the sizes of its files."""
    sizes = {name: (package.folder / name).stat().st_size for name in package.manifest.files}
    return {
        **package.manifest.model_dump(mode="json"),
        "size_bytes": sizes,
        "card_text": package.card,
    }


def _labels(manifest: Manifest) -> str:
    shown = ", ".join(manifest.labels[:_SHOWN_LABELS])
    more = len(manifest.labels) - _SHOWN_LABELS
    return f"{shown}, … {more} more" if more > 0 else shown


def _input(wanted: Input) -> str:
    return f"{wanted.width} x {wanted.height} pixels, {wanted.dtype}, {wanted.layout}"


def _shown_preprocessing(first: str, wanted: Input) -> str:
    normalization = wanted.normalization
    if normalization is None:
        return f"{first}; pixels from 0 to 255"
    offset = ", ".join(f"{value:g}" for value in normalization.offset)
    scale = ", ".join(f"{value:g}" for value in normalization.scale)
    return f"{first}; (pixel - [{offset}]) / [{scale}], {normalization.channels.upper()}"


def _output(given: Output) -> str:
    if given.kind == "probabilities":
        return f"probabilities, by {given.activation} inside of the network"
    return f"scores, then {given.activation} at temperature {given.temperature:.4g}"


def _network(package: Package) -> str:
    network = package.manifest.network
    names = [
        name
        for name in package.manifest.files
        if name == network.file or name.startswith((f"{network.file}/", "network."))
    ]
    size = sum((package.folder / name).stat().st_size for name in names)
    return f"{network.file}, {Quantity(size, 'B')}, {network.precision}, for {network.runtime}"
